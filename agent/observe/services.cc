#include "agent/observe/services.h"

#include <utility>

namespace lastcall::observe {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

}  // namespace

Services::Services(k8s::ApiClient& api, net::Loop& loop, report::Log& log,
                   std::string pod_namespace, Tuning& tuning, Emit emit)
    : api_(api),
      loop_(loop),
      log_(log),
      namespace_(std::move(pod_namespace)),
      tuning_(tuning),
      emit_(std::move(emit)),
      backoff_(milliseconds(200), seconds(60)),
      retry_(loop.make_timer([this] { learn(); })),
      reflection_(api, *this) {}

void Services::on_change(std::function<void()> listener) { listener_ = std::move(listener); }

void Services::identify(const k8s::PodView& pod) {
  if (labels_ == pod.labels) return;
  const bool first = !labels_;
  labels_ = pod.labels;
  for (auto& [name, candidate] : candidates_) candidate.selects = candidate.view.selects(*labels_);
  if (reflection_.lasts()) {
    reflection_.relist();
  } else if (first) {
    learn();
  }
}

void Services::announce() {
  announced_ = true;
  emit_(core::ConsumerKnown{{"services", namespace_}, tuning_.pod()});
}

void Services::retune() {
  if (announced_) announce();
  changed();
}

void Services::begin() {
  holding_ = true;
  learnt_ = false;
  lister_.reset();
  retry_->disarm();
  if (!labels_) return;  // identify() learns
  learn();
}

void Services::end() {
  holding_ = false;
  lister_.reset();
  retry_->disarm();
  reflection_.end();
}

// ---- Learning -----------------------------------------------------------------------------

k8s::ListRequest Services::request() const {
  k8s::ListRequest request;
  request.path = "/api/v1/namespaces/" + namespace_ + "/services";
  request.resource = "services";
  request.kind = "ServiceList";
  return request;
}

void Services::learn() {
  if (holding_) {
    reflection_.begin(request());
    return;
  }
  k8s::Lister::Callbacks callbacks;
  callbacks.on_begin = [this] { on_list_begin(); };
  callbacks.on_item = [this](const k8s::PaddedText& item) { return on_list_item(item); };
  callbacks.done = [this](const net::Result<std::string>& outcome) { on_learnt(outcome); };
  lister_ = std::make_unique<k8s::Lister>(api_, request(), std::move(callbacks));
}

void Services::on_learnt(const net::Result<std::string>& outcome) {
  if (outcome.ok()) {
    on_list_end();
    return;
  }
  complain(outcome.error());
  retry_->arm(loop_.now() + backoff_.next(loop_.random(), outcome.error().retry_after));
}

void Services::on_list_begin() { incoming_.clear(); }

net::Status Services::on_list_item(const k8s::PaddedText& item) {
  net::Result<k8s::ServiceView> service = k8s::parse_service(item);
  if (!service.ok()) return service.error();
  k8s::ServiceView& view = service.value();
  if (concerns_us(view)) incoming_.insert_or_assign(view.name, std::move(view));
  return net::Done{};
}

void Services::on_list_end() {
  last_error_.clear();
  auto incoming = std::exchange(incoming_, {});
  for (auto it = candidates_.begin(); it != candidates_.end();) {
    const std::string name = (it++)->first;
    if (!incoming.contains(name)) remove(name);
  }
  for (auto& [name, view] : incoming) note(std::move(view));
  const bool first = !std::exchange(learnt_, true);
  changed();
  // By now whoever may be sending is known by name.
  if (!first || !holding_) return;
  announced_ = false;
  emit_(core::ConsumerDropped{{"services", namespace_}});
}

net::Status Services::on_change(k8s::WatchVerb verb, const k8s::PaddedText& object) {
  net::Result<k8s::ServiceView> service = k8s::parse_service(object);
  if (!service.ok()) return service.error();
  k8s::ServiceView& view = service.value();
  if (!concerns_us(view)) return net::Done{};
  if (verb == k8s::WatchVerb::kDeleted) {
    remove(view.name);
  } else {
    note(std::move(view));
  }
  changed();
  return net::Done{};
}

// Losing sight of the Services later hides only changes of them.
void Services::on_blind(const net::Error& error) {
  complain(error);
  if (!learnt_) changed();
}

void Services::on_sight() { last_error_.clear(); }

void Services::complain(const net::Error& error) {
  if (holding_ && !learnt_) {
    emit_(core::Observed{{"services", namespace_}, core::Presence::kBlind, error.message});
  }
  if (error.message == last_error_) return;
  last_error_ = error.message;
  log_.write(report::Level::kWarn, learnt_ ? "services-blind" : "services-unknown",
             {{"error", error.message}});
}

// ---- Candidates ---------------------------------------------------------------------------

bool Services::concerns_us(const k8s::ServiceView& view) const {
  if (candidates_.contains(view.name)) return true;
  return !view.external_name && (view.selector.empty() || view.selects(*labels_));
}

void Services::note(k8s::ServiceView view) {
  const bool selects = view.selects(*labels_);
  const bool lost = !selects && !view.selector.empty() && !holding_;
  if (view.external_name || lost) {
    remove(view.name);
    return;
  }
  tuning_.read(view);
  Candidate& candidate = candidates_[view.name];
  candidate.view = std::move(view);
  candidate.selects = selects;
  candidate.deleted = false;
}

void Services::remove(const std::string& name) {
  const auto found = candidates_.find(name);
  if (found == candidates_.end()) return;
  tuning_.forget(name);
  if (holding_) {
    found->second.deleted = true;
    found->second.selects = false;
  } else {
    candidates_.erase(found);
  }
}

void Services::changed() {
  for (auto& [name, candidate] : candidates_) {
    const std::string_view why = tuning_.why_ignored(name);
    if (candidate.ignored == why) continue;
    candidate.ignored = why;
    if (why.empty()) continue;
    log_.write(report::Level::kInfo, "service-ignored", {{"service", name}, {"why", why}});
  }
  if (listener_) listener_();
}

}  // namespace lastcall::observe
