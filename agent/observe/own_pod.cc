#include "agent/observe/own_pod.h"

#include <utility>

namespace lastcall::observe {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A Node lists every image it holds.
constexpr std::size_t kObjectBytesMax = std::size_t{4} * 1024 * 1024;
// Bookmarks come about once a minute, and often nothing else does.
constexpr seconds kWatchIdle{90};
// A slow answer is still an answer; the hold does not wait for it (Policy::verify_patience).
constexpr net::HttpLimits kLimits{.first_byte = seconds(30), .total = seconds(40)};

// The Date header is cut to the second: the server's clock may be this much further on.
constexpr seconds kDateGrain{1};

// When the kubelet will SIGKILL, in our time. deletionTimestamp is in the API server's clock,
// and so is the Date header of the same answer: their difference is free of clock skew.
net::Instant deadline_of(const k8s::PodView& pod, const k8s::ApiAnswer& answer,
                         net::WallTime wall_now) {
  const net::Duration left = *pod.deletion_timestamp - answer.date.value_or(wall_now);
  return answer.answered_at + left - kDateGrain;
}

}  // namespace

core::PodState pod_state(const k8s::PodView& pod) {
  if (pod.deletion_timestamp) return core::PodState::kDeleted;
  const bool ended = pod.phase == "Failed" || pod.phase == "Succeeded";
  if (ended || pod.disruption_target) return core::PodState::kStopping;
  return core::PodState::kLiving;
}

core::PodState pod_state(const k8s::NodeView& node) {
  if (node.shutting_down) return core::PodState::kStopping;
  return node.under_pressure ? core::PodState::kUnclear : core::PodState::kLiving;
}

OwnPod::OwnPod(k8s::ApiClient& api, net::Loop& loop, report::Log& log, Name name, Emit emit)
    : api_(api),
      loop_(loop),
      log_(log),
      name_(std::move(name)),
      emit_(std::move(emit)),
      backoff_(milliseconds(200), seconds(5)),
      idle_backoff_(seconds(10), seconds(60)),
      retry_(loop.make_timer([this] { read(); })),
      reflection_(api, *this) {}

void OwnPod::on_pod(std::function<void(const k8s::PodView&)> listener) {
  listener_ = std::move(listener);
}

void OwnPod::announce() {
  if (pod_) tell_grace();
  if (gone_ || (pod_ && pod_->deletion_timestamp)) tell_deletion();
}

void OwnPod::tell_grace() { emit_(core::GraceLearnt{pod_->grace_period}); }

void OwnPod::tell_deletion() {
  core::PodSeen seen{core::PodState::kDeleted, *asked_at_, deadline_, std::nullopt};
  if (deadline_ && pod_->deletion_grace_period) seen.grace = *pod_->deletion_grace_period;
  emit_(seen);
}

// ---- Reading ------------------------------------------------------------------------------

void OwnPod::ask() {
  urgent_until_ = loop_.now() + kUrgent;
  if (reading_ && !std::exchange(idle_, false)) return;
  reading_ = true;
  backoff_.reset();
  idle_backoff_.reset();
  const net::Instant earliest = asked_at_ ? *asked_at_ + kInterval : loop_.now();
  if (earliest <= loop_.now()) {
    read();
  } else {
    retry_->arm(earliest);
  }
}

void OwnPod::get(std::string path, std::string_view resource,
                 void (OwnPod::*done)(const net::Result<k8s::ApiAnswer>&)) {
  k8s::ApiRequest request;
  request.path = std::move(path);
  request.verb = "get";
  request.resource = resource;
  request.limits = kLimits;
  call_ = api_.fetch(
      std::move(request), kObjectBytesMax,
      [this, done](const net::Result<k8s::ApiAnswer>& answer) { (this->*done)(answer); });
}

void OwnPod::read() {
  idle_ = false;
  asked_at_ = loop_.now();
  get("/api/v1/namespaces/" + name_.pod_namespace + "/pods/" + name_.name, "pods",
      &OwnPod::on_answer);
}

void OwnPod::on_answer(const net::Result<k8s::ApiAnswer>& answer) {
  if (!answer.ok()) {
    if (answer.error().code == net::ErrorCode::kNotFound && pod_) {
      on_gone();
    } else {
      on_failure(answer.error());
    }
    return;
  }
  net::Result<k8s::PodView> parsed = k8s::parse_pod(answer.value().body);
  if (!parsed.ok()) {
    on_failure(parsed.error().in("get pods"));
    return;
  }
  if (!name_.uid.empty() && parsed.value().uid != name_.uid) {
    on_gone();
    return;
  }
  pod_ = std::move(parsed).value();
  name_.uid = pod_->uid;
  deadline_.reset();
  if (pod_->deletion_timestamp) {
    deadline_ = deadline_of(*pod_, answer.value(), loop_.wall_now());
  }
  last_error_.clear();
  if (listener_) listener_(*pod_);
  if (watching_) begin_watch();
  const core::PodState state = pod_state(*pod_);
  if (state == core::PodState::kLiving && node_readable_ && !pod_->node_name.empty()) {
    tell_grace();
    read_node();
  } else {
    // In this order: the grace period alone might cut short what the reading explains.
    conclude(state);
    tell_grace();
  }
}

void OwnPod::conclude(core::PodState state) {
  reading_ = false;
  if (state == core::PodState::kDeleted) {
    tell_deletion();
  } else {
    emit_(core::PodSeen{state, *asked_at_, std::nullopt, std::nullopt});
  }
  if (std::exchange(outdated_, false)) ask();
}

// The object is no more, or its name belongs to a successor: ours was deleted by force.
void OwnPod::on_gone() {
  reading_ = false;
  log_.write(report::Level::kWarn, "own-pod-gone", {{"pod", name_.name}, {"uid", name_.uid}});
  gone_ = true;
  tell_deletion();
}

void OwnPod::on_failure(const net::Error& error) {
  if (error.message != last_error_) {
    last_error_ = error.message;
    log_.write(report::Level::kWarn, "own-pod-unreadable", {{"error", error.message}});
  }
  idle_ = loop_.now() >= urgent_until_;
  net::Backoff& backoff = idle_ ? idle_backoff_ : backoff_;
  retry_->arm(loop_.now() + backoff.next(loop_.random(), error.retry_after));
}

// ---- The Node -----------------------------------------------------------------------------

void OwnPod::read_node() { get("/api/v1/nodes/" + pod_->node_name, "nodes", &OwnPod::on_node); }

void OwnPod::on_node(const net::Result<k8s::ApiAnswer>& answer) {
  if (!answer.ok()) {
    const net::ErrorCode code = answer.error().code;
    if (code != net::ErrorCode::kForbidden && code != net::ErrorCode::kNotFound) {
      on_failure(answer.error());
      return;
    }
    // Most clusters do not let pods read Nodes: an eviction then looks like a restart.
    node_readable_ = false;
    log_.write(report::Level::kInfo, "node-unreadable", {{"error", answer.error().message}});
    conclude(core::PodState::kLiving);
    return;
  }
  const net::Result<k8s::NodeView> node = k8s::parse_node(answer.value().body);
  if (!node.ok()) {
    on_failure(node.error().in("get nodes"));
    return;
  }
  const core::PodState state = pod_state(node.value());
  if (state != core::PodState::kLiving) {
    log_.write(report::Level::kWarn, "node-ending-pods",
               {{"node", pod_->node_name}, {"why", node.value().why}});
  }
  conclude(state);
}

// ---- The watch ----------------------------------------------------------------------------

void OwnPod::watch() {
  watching_ = true;
  if (pod_) begin_watch();
}

void OwnPod::unwatch() {
  watching_ = false;
  reflection_.end();
}

void OwnPod::begin_watch() {
  if (reflection_.lasts() || !watchable_) return;
  k8s::ListRequest request;
  request.path = "/api/v1/namespaces/" + name_.pod_namespace + "/pods";
  request.resource = "pods";
  request.kind = "PodList";
  request.field_selector = "metadata.name=" + name_.name;
  request.watch_idle = kWatchIdle;
  reflection_.begin(std::move(request), pod_->resource_version);
}

net::Status OwnPod::on_change(k8s::WatchVerb verb, const k8s::PaddedText& object) {
  if (verb != k8s::WatchVerb::kDeleted) return consider(object);
  ask();
  return net::Done{};
}

net::Status OwnPod::consider(const k8s::PaddedText& object) {
  net::Result<k8s::PodView> parsed = k8s::parse_pod(object);
  if (!parsed.ok()) return parsed.error();
  k8s::PodView& pod = parsed.value();
  const bool ending = pod.uid != pod_->uid || pod.deletion_timestamp != pod_->deletion_timestamp ||
                      pod_state(pod) != pod_state(*pod_);
  if (ending) {
    // A reading tells the server's time as well.
    outdated_ = reading_;
    ask();
  } else if (pod.labels != pod_->labels || pod.annotations != pod_->annotations) {
    pod_ = std::move(pod);
    if (listener_) listener_(*pod_);
  }
  return net::Done{};
}

void OwnPod::on_blind(const net::Error& error) {
  if (error.message != last_watch_error_) {
    last_watch_error_ = error.message;
    log_.write(report::Level::kWarn, "own-pod-unwatched", {{"error", error.message}});
  }
  if (error.code != net::ErrorCode::kForbidden) return;
  watchable_ = false;
  reflection_.end();
}

}  // namespace lastcall::observe
