#include "agent/cli/agent.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "agent/cli/policy.h"
#include "agent/observe/observers.h"
#include "agent/observe/own_pod.h"
#include "agent/report/decisions.h"
#include "agent/report/metrics.h"
#include "agent/serve/endpoints.h"
#include "agent/serve/status.h"
#include "k8s/api_client.h"

namespace lastcall::agent {
namespace {

// An answer is on its way when it has been handed over, not yet when it has arrived.
constexpr std::chrono::milliseconds kFlush{200};
// Some container runtimes send it again with each attempt to stop the container. Another one may
// also be the stop itself, after the restart of our own container.
constexpr std::size_t kSigtermsMax = 8;

}  // namespace

// An observer emits an event; the decision answers with actions; each is carried out by
// whoever it is for, and told to those who report.
class Agent::Impl {
 public:
  Impl(const config::Settings& settings, Seams seams)
      : seams_(seams),
        log_(seams.loop, seams.log),
        metrics_(LASTCALL_VERSION),
        api_(seams.loop, seams.http,
             {settings.kubernetes_server.value, settings.kubernetes_token_file.value,
              settings.kubernetes_ca_file.value}),
        policy_(policy_from(settings)),
        watch_pod_(settings.watch_pod.value),
        drain_(policy_),
        own_pod_(api_, seams.loop, log_,
                 {settings.pod_namespace.value, settings.pod_name.value, settings.pod_uid.value},
                 emitter()),
        observers_(api_, seams.loop, log_,
                   {settings.pod_namespace.value, policy_.thresholds, settings.endpoints.value},
                   emitter()),
        endpoints_(seams.pod_server, seams.local_server, endpoint_callbacks(settings)),
        wakeup_(seams.loop.make_timer([this] { carry_out(drain_.on_time(seams_.loop.now())); })),
        exit_timer_(seams.loop.make_timer([this] { on_exit_(); })) {
    own_pod_.on_pod([this](const k8s::PodView& pod) {
      observers_.identify(pod);
      policy_.thresholds = observers_.tuning().pod();
    });
    observers_.on_change([this] { on_services(); });
    observers_.on_complaint([this](const observe::Tuning::Complaint& complaint) {
      metrics_.count_malformed_annotation(complaint.kind, complaint.error.key);
    });
    const auto count = [this](k8s::WatchRestart reason) {
      metrics_.count_watch_restart(to_string(reason));
    };
    own_pod_.on_watch_restart(count);
    observers_.on_watch_restart(count);
    api_.on_report([this](const k8s::RequestReport& report) {
      metrics_.count_request(report.verb, report.resource, report.status, report.first_byte);
    });
  }

  void start() {
    observers_.announce();
    own_pod_.ask();
    if (watch_pod_) own_pod_.watch();
  }

  void on_sigterm() {
    if (drain_.phase() == core::Phase::kReleased) {
      told_to_end_ = true;
      end_unless_waited_for();
      return;
    }
    if (own_stops_.size() >= kSigtermsMax) return;
    const core::HookId id = endpoints_.next_hook_id();
    own_stops_.insert(id);
    log_.write(report::Level::kInfo, "sigterm", {{"phase", to_string(drain_.phase())}});
    emit(core::HookArrived{id, core::Trust::kLocal});
  }

  void on_exit(std::function<void()> callback) { on_exit_ = std::move(callback); }

  [[nodiscard]] core::Snapshot snapshot() const { return drain_.snapshot(); }

 private:
  observe::Emit emitter() {
    return [this](core::Event event) { emit(std::move(event)); };
  }

  serve::Endpoints::Callbacks endpoint_callbacks(const config::Settings& settings) {
    serve::Identity identity{settings.pod_namespace.value, settings.pod_name.value,
                             LASTCALL_VERSION};
    return {.emit = emitter(),
            .phase = [this] { return drain_.phase(); },
            .hooks_waiting = [this] { return drain_.snapshot().hooks_waiting; },
            .status =
                [this, identity] {
                  return serve::status_json(drain_.snapshot(), identity, findings(),
                                            seams_.loop.now());
                },
            .metrics = [this] { return metrics_.render(drain_.snapshot(), seams_.loop.now()); }};
  }

  [[nodiscard]] serve::Findings findings() const {
    serve::Findings findings;
    for (const auto& [name, candidate] : observers_.services().candidates()) {
      if (candidate.ignored.empty()) continue;
      findings.ignored.push_back({name, candidate.ignored});
    }
    for (const auto& [kind, object, error] : observers_.tuning().complaints()) {
      findings.malformed.push_back({object, error.key, error.value, error.message});
    }
    return findings;
  }

  void on_services() {
    const auto& candidates = observers_.services().candidates();
    metrics_.set_services_ignored(static_cast<std::size_t>(
        std::count_if(candidates.begin(), candidates.end(),
                      [](const auto& entry) { return !entry.second.ignored.empty(); })));
    warn_of_budget();
  }

  void warn_of_budget() {
    const core::Snapshot snapshot = drain_.snapshot();
    if (observers_.services().learnt() && snapshot.phase == core::Phase::kServing) {
      budget_warning_.tell(log_, snapshot);
    }
  }

  // Carrying out an action may emit further events: they wait for their turn.
  void emit(core::Event event) {
    events_.push_back(std::move(event));
    if (emitting_) return;
    emitting_ = true;
    while (!events_.empty()) {
      const core::Event next = std::move(events_.front());
      events_.pop_front();
      begin_anew_if_followed(next);
      carry_out(drain_.on_event(next, seams_.loop.now()));
      if (std::holds_alternative<core::GraceLearnt>(next)) warn_of_budget();
    }
    emitting_ = false;
  }

  // A stop that ended without proof may not have been one: another hook gets another decision.
  void begin_anew_if_followed(const core::Event& event) {
    if (!drain_.may_be_followed() || !std::holds_alternative<core::HookArrived>(event)) return;
    log_.write(report::Level::kInfo, "another-stop", {});
    drain_ = core::Drain(policy_);
    // The consumers first: with a deletion that is known already the hold begins.
    observers_.announce();
    own_pod_.announce();
  }

  void carry_out(const std::vector<core::Action>& actions) {
    for (const core::Action& action : actions) {
      std::visit([this](const auto& a) { perform(a); }, action);
    }
    if (!actions.empty()) {
      metrics_.count(actions);
      log_decisions(log_, actions, drain_.snapshot(), seams_.loop.now());
    }
    if (told_to_end_) end_unless_waited_for();
    if (const auto next = drain_.next_wakeup()) {
      wakeup_->arm(*next);
    } else {
      wakeup_->disarm();
    }
  }

  void perform(const core::AskPod&) { own_pod_.ask(); }
  void perform(const core::BeginObserving&) {
    own_pod_.watch();
    observers_.begin();
  }
  void perform(const core::EndObserving&) {
    if (!watch_pod_) own_pod_.unwatch();
    observers_.end();
  }
  void perform(const core::AnswerHook& hook) {
    if (own_stops_.erase(hook.id) > 0) {
      told_to_end_ = true;
    } else {
      endpoints_.answer(hook.id, hook.answer);
    }
  }
  // With no proxy to release, the kubelet's SIGTERM does the rest.
  void perform(const core::DrainProxy&) {}
  void perform(const core::PhaseEntered&) {}
  void perform(const core::PresenceChanged&) {}
  void perform(const core::ConsumerGone&) {}
  void perform(const core::ConsumerReturned&) {}

  // Our own container may restart while a stop begins: whoever waits for that is not left alone.
  void end_unless_waited_for() {
    const bool waited_for = drain_.snapshot().hooks_waiting > 0;
    if (waited_for) {
      exit_timer_->disarm();
    } else if (!ending_ && on_exit_) {
      exit_timer_->arm(seams_.loop.now() + kFlush);
    }
    ending_ = !waited_for;
  }

  Seams seams_;
  report::Log log_;
  report::Metrics metrics_;
  k8s::ApiClient api_;
  core::Policy policy_;
  bool watch_pod_;
  core::Drain drain_;
  observe::OwnPod own_pod_;
  observe::Observers observers_;
  serve::Endpoints endpoints_;

  std::deque<core::Event> events_;
  bool emitting_ = false;
  report::BudgetWarning budget_warning_;
  std::set<core::HookId> own_stops_;  // our own SIGTERM waits like a hook
  bool told_to_end_ = false;          // and has been answered
  bool ending_ = false;
  std::function<void()> on_exit_;
  std::unique_ptr<net::Timer> wakeup_;
  std::unique_ptr<net::Timer> exit_timer_;
};

Agent::Agent(const config::Settings& settings, Seams seams)
    : impl_(std::make_unique<Impl>(settings, seams)) {}
Agent::~Agent() = default;

void Agent::start() { impl_->start(); }
void Agent::on_sigterm() { impl_->on_sigterm(); }
void Agent::on_exit(std::function<void()> callback) { impl_->on_exit(std::move(callback)); }
core::Snapshot Agent::snapshot() const { return impl_->snapshot(); }

}  // namespace lastcall::agent
