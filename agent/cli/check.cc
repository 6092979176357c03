#include "agent/cli/check.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

#include "agent/cli/policy.h"
#include "agent/core/budget.h"
#include "agent/observe/observers.h"
#include "agent/observe/own_pod.h"
#include "config/duration.h"
#include "k8s/api_client.h"

namespace lastcall::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kReviewBytesMax = std::size_t{64} * 1024;
constexpr const char* kSliceGroup = "discovery.k8s.io";

std::string text(core::Duration duration) {
  return config::format_duration(std::chrono::ceil<milliseconds>(duration));
}

// What the observers complain about, by event: the last of each.
class Complaints final : public report::LogSink {
 public:
  void write(report::Level level, std::string_view line) override {
    if (level == report::Level::kDebug) return;
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (json.is_discarded() || !json.contains("error")) return;
    errors_[json.value("event", "")] = json.value("error", "");
    if (listener_) listener_();
  }

  void on_complaint(std::function<void()> listener) { listener_ = std::move(listener); }

  [[nodiscard]] std::optional<std::string> find(const std::string& event) const {
    const auto found = errors_.find(event);
    return found == errors_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  std::map<std::string, std::string> errors_;
  std::function<void()> listener_;
};

std::vector<Permission> permissions_for(const config::Settings& settings) {
  const std::string& here = settings.pod_namespace.value;
  const auto rule = [&here](const char* verb, const char* group, const char* resource) {
    return k8s::AccessRule{verb, group, resource, {}, here, {}};
  };
  std::vector<Permission> permissions{
      {rule("get", "", "pods"), "whether the pod is being deleted", Severity::kFatal},
      {rule("list", "", "services"), "which Services may send to it", Severity::kFatal},
      {rule("list", kSliceGroup, "endpointslices"), "who may choose it", Severity::kFatal},
      {rule("watch", kSliceGroup, "endpointslices"), "when they let go", Severity::kFatal},
      {rule("watch", "", "services"), "changes of Services while holding", Severity::kWarning},
      {rule("watch", "", "pods"), "a shorter deadline while holding", Severity::kWarning},
      {rule("list", "", "pods"), "the same, when a watch expires", Severity::kWarning},
  };
  if (settings.endpoints.value) {
    for (const char* verb : {"list", "watch"}) {
      permissions.push_back({rule(verb, "", "endpoints"), "legacy Endpoints", Severity::kFatal});
    }
  }
  k8s::AccessRule node{"get", "", "nodes", {}, {}, {}};
  permissions.push_back({std::move(node), "evictions and shutdowns of the node", Severity::kNote});
  return permissions;
}

}  // namespace

class Check::Impl {
 public:
  Impl(const config::Settings& settings, net::Loop& loop, net::HttpClient& http)
      : loop_(loop),
        log_(loop, complaints_),
        api_(loop, http,
             {settings.kubernetes_server.value, settings.kubernetes_token_file.value,
              settings.kubernetes_ca_file.value}),
        own_pod_(api_, loop, log_,
                 {settings.pod_namespace.value, settings.pod_name.value, settings.pod_uid.value},
                 emitter()),
        observers_(api_, loop, log_,
                   {settings.pod_namespace.value, policy_from(settings).thresholds,
                    settings.endpoints.value},
                   emitter()),
        timer_(loop.make_timer([this] { finish(); })) {
    result_.pod = settings.pod_namespace.value + "/" + settings.pod_name.value;
    result_.server = settings.kubernetes_server.value;
    result_.policy = policy_from(settings);
    result_.permissions = permissions_for(settings);
    own_pod_.on_pod([this](const k8s::PodView& pod) {
      pod_ = pod;
      observers_.identify(pod);
    });
    complaints_.on_complaint([this] { look(); });
  }

  void start(milliseconds patience, std::function<void(CheckResult)> done) {
    done_ = std::move(done);
    patience_ = patience;
    timer_->arm(loop_.now() + patience);
    for (std::size_t i = 0; i < result_.permissions.size(); ++i) review(i);
    observers_.announce();
    observers_.begin();
    own_pod_.ask();
  }

 private:
  observe::Emit emitter() {
    return [this](const core::Event& event) {
      std::visit([this](const auto& e) { handle(e); }, event);
      look();
    };
  }

  // ---- What is asked ------------------------------------------------------------------------

  void review(std::size_t index) {
    k8s::ApiRequest request;
    request.method = "POST";
    request.path = k8s::kAccessReviewPath;
    request.body = k8s::access_review_body(result_.permissions[index].rule);
    request.verb = "create";
    request.resource = "selfsubjectaccessreviews";
    reviews_.push_back(api_.fetch(std::move(request), kReviewBytesMax,
                                  [this, index](const net::Result<k8s::ApiAnswer>& answer) {
                                    on_review(result_.permissions[index], answer);
                                  }));
  }

  void on_review(Permission& permission, const net::Result<k8s::ApiAnswer>& answer) {
    ++reviewed_;
    const auto parsed = answer.ok() ? k8s::parse_access_review(answer.value().body)
                                    : net::Result<k8s::AccessAnswer>(answer.error());
    if (parsed.ok()) {
      permission.allowed = parsed.value().allowed;
      permission.reason = parsed.value().reason;
    } else {
      permission.reason = parsed.error().message;
    }
    look();
  }

  // ---- What is seen -------------------------------------------------------------------------

  void handle(const core::ConsumerKnown& event) {
    consumers_[event.id].id = event.id;
    consumers_[event.id].thresholds = event.thresholds;
  }
  void handle(const core::ConsumerDropped& event) { consumers_.erase(event.id); }
  void handle(const core::Observed& event) {
    const auto found = consumers_.find(event.id);
    if (found == consumers_.end()) return;
    found->second.presence = event.presence;
    found->second.detail = event.detail;
  }
  void handle(const core::PolicyChanged& event) { result_.policy.thresholds = event.thresholds; }
  void handle(const core::PodSeen& event) { state_ = event.state; }
  template <class Other>
  void handle(const Other&) {}

  // Finishes when there is nothing more to wait for.
  void look() {
    if (reviewed_ < result_.permissions.size()) return;
    const bool pod_settled = state_ || complaints_.find("own-pod-unreadable");
    const bool services_settled =
        observers_.services().learnt() || !pod_ || complaints_.find("services-unknown");
    const bool all_seen = std::all_of(consumers_.begin(), consumers_.end(), [](const auto& entry) {
      return entry.second.presence || entry.first.kind == "services";
    });
    // On the next turn: this may be inside an observer.
    if (pod_settled && services_settled && all_seen) timer_->arm(loop_.now());
  }

  // ---- What it means ------------------------------------------------------------------------

  void find(Severity severity, std::string text) {
    result_.findings.push_back({severity, std::move(text)});
  }

  void finish() {
    if (!done_) return;
    judge_pod();
    judge_services();
    judge_permissions();
    judge_thresholds();
    std::stable_sort(
        result_.findings.begin(), result_.findings.end(),
        [](const CheckFinding& a, const CheckFinding& b) { return a.severity > b.severity; });
    std::exchange(done_, nullptr)(std::move(result_));
  }

  void judge_pod() {
    if (!state_) {
      find(Severity::kFatal,
           "the Pod cannot be read: " +
               complaints_.find("own-pod-unreadable").value_or("no answer in " + text(patience_)));
      return;
    }
    if (pod_ && pod_->pre_stop_hooks == 0) {
      find(Severity::kWarning,
           "no container of the pod has a preStop hook, so nothing waits for the release");
    }
    if (*state_ == core::PodState::kDeleted) find(Severity::kNote, "the pod is being deleted");
    if (*state_ == core::PodState::kStopping || *state_ == core::PodState::kUnclear) {
      find(Severity::kWarning, "the pod or its node is ending without a deletion");
    }
  }

  void judge_services() {
    if (!state_) return;
    if (!observers_.services().learnt()) {
      find(Severity::kFatal,
           "the Services cannot be listed: " +
               complaints_.find("services-unknown").value_or("no answer in " + text(patience_)));
      return;
    }
    if (const auto error = complaints_.find("endpointslices-blind")) {
      find(Severity::kFatal, "the EndpointSlices cannot be seen: " + *error);
    }
    if (const auto error = complaints_.find("endpoints-blind")) {
      find(Severity::kFatal, "the Endpoints cannot be seen: " + *error);
    }
    for (const auto& [name, candidate] : observers_.services().candidates()) {
      if (candidate.ignored.empty()) continue;
      find(Severity::kNote, "Service " + name + " is not waited for: " + candidate.ignored);
    }
    std::size_t services = 0;
    for (auto& [id, consumer] : consumers_) {
      if (id.kind == "services") continue;
      ++services;
      if (!consumer.presence) {
        find(Severity::kWarning, id.kind + " " + id.name + " was not seen in " + text(patience_));
      } else if (id.kind == "unmanaged-endpointslices") {
        find(Severity::kWarning, id.kind + " " + id.name + ": " + consumer.detail +
                                     "; it is waited for as long as blind");
      }
      result_.consumers.push_back(consumer);
    }
    if (services == 0) {
      find(Severity::kNote, "no Service selects this pod: a hold lasts for hold-min and quiet");
    }
  }

  void judge_permissions() {
    std::string unsaid;
    for (const Permission& permission : result_.permissions) {
      if (!permission.allowed) {
        if (std::exchange(unsaid, permission.reason) == permission.reason) continue;
        find(Severity::kWarning, "the server does not say what is allowed: " + permission.reason);
      } else if (!*permission.allowed) {
        find(permission.when_missing,
             "a rule is missing, for " + permission.purpose + ": " + rule_text(permission.rule));
      }
    }
  }

  void judge_thresholds() {
    for (const auto& complaint : observers_.tuning().complaints()) {
      find(Severity::kWarning,
           complaint.object + ": " + complaint.error.key + ": " + complaint.error.message);
    }
    if (!pod_) return;
    std::vector<core::ConsumerState> states;
    for (const CheckedConsumer& consumer : result_.consumers) {
      states.push_back({consumer.id, consumer.thresholds, {}, {}, {}, {}, {}});
    }
    result_.budget = core::budget(pod_->grace_period, result_.policy, states);
    const core::Budget& budget = *result_.budget;
    const std::string room = "the grace period of " + text(budget.grace) + " leaves " +
                             text(budget.hold) + " for the hold (" + text(budget.kept) +
                             " are kept for the drain), ";
    const std::string enough =
        "; " + text(std::chrono::ceil<seconds>(budget.grace_needed)) + " would be enough";
    if (!budget.settle_fits()) {
      find(Severity::kWarning,
           room + "settle and quiet need " + text(budget.settle_needs) + enough);
    } else if (!budget.blind_fits()) {
      find(Severity::kWarning, room + "blind needs " + text(budget.blind_needs) + enough);
    }
  }

  net::Loop& loop_;
  Complaints complaints_;
  report::Log log_;
  k8s::ApiClient api_;
  CheckResult result_;
  observe::OwnPod own_pod_;
  observe::Observers observers_;
  std::unique_ptr<net::Timer> timer_;
  milliseconds patience_{};
  std::function<void(CheckResult)> done_;

  std::vector<std::unique_ptr<k8s::ApiCall>> reviews_;
  std::size_t reviewed_ = 0;
  std::map<core::ConsumerId, CheckedConsumer> consumers_;
  std::optional<k8s::PodView> pod_;
  std::optional<core::PodState> state_;
};

Check::Check(const config::Settings& settings, net::Loop& loop, net::HttpClient& http)
    : impl_(std::make_unique<Impl>(settings, loop, http)) {}
Check::~Check() = default;

void Check::start(milliseconds patience, std::function<void(CheckResult)> done) {
  impl_->start(patience, std::move(done));
}

int exit_code(const CheckResult& result) {
  Severity worst = Severity::kNote;
  for (const CheckFinding& finding : result.findings) worst = std::max(worst, finding.severity);
  return static_cast<int>(worst);
}

std::string rule_text(const k8s::AccessRule& rule) {
  const std::string resource =
      rule.resource + (rule.subresource.empty() ? "" : "/" + rule.subresource);
  return "{apiGroups: [\"" + rule.group + "\"], resources: [" + resource + "], verbs: [" +
         rule.verb + "]} in " +
         (rule.pod_namespace.empty() ? "a ClusterRole" : "namespace " + rule.pod_namespace);
}

}  // namespace lastcall::agent
