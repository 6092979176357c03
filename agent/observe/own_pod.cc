#include "agent/observe/own_pod.h"

#include <utility>

namespace lastcall::observe {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kPodBytesMax = std::size_t{4} * 1024 * 1024;
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

OwnPod::OwnPod(k8s::ApiClient& api, net::Loop& loop, report::Log& log, Name name, Emit emit)
    : api_(api),
      loop_(loop),
      log_(log),
      name_(std::move(name)),
      emit_(std::move(emit)),
      backoff_(milliseconds(200), seconds(5)),
      retry_(loop.make_timer([this] { read(); })) {}

void OwnPod::on_pod(std::function<void(const k8s::PodView&)> listener) {
  listener_ = std::move(listener);
}

void OwnPod::announce() {
  if (grace_) emit_(core::GraceLearnt{*grace_});
}

void OwnPod::ask() {
  if (reading_) return;
  reading_ = true;
  backoff_.reset();
  const net::Instant earliest = asked_at_ ? *asked_at_ + kInterval : loop_.now();
  if (earliest <= loop_.now()) {
    read();
  } else {
    retry_->arm(earliest);
  }
}

void OwnPod::read() {
  asked_at_ = loop_.now();
  k8s::ApiRequest request;
  request.path = "/api/v1/namespaces/" + name_.pod_namespace + "/pods/" + name_.name;
  request.verb = "get";
  request.resource = "pods";
  request.limits = kLimits;
  call_ = api_.fetch(std::move(request), kPodBytesMax,
                     [this](const net::Result<k8s::ApiAnswer>& answer) { on_answer(answer); });
}

void OwnPod::on_answer(const net::Result<k8s::ApiAnswer>& answer) {
  if (!answer.ok()) {
    if (answer.error().code == net::ErrorCode::kNotFound && grace_) {
      on_gone();
    } else {
      on_failure(answer.error());
    }
    return;
  }
  const net::Result<k8s::PodView> parsed = k8s::parse_pod(answer.value().body);
  if (!parsed.ok()) {
    on_failure(parsed.error());
    return;
  }
  const k8s::PodView& pod = parsed.value();
  if (!name_.uid.empty() && pod.uid != name_.uid) {
    on_gone();
    return;
  }
  name_.uid = pod.uid;
  reading_ = false;
  grace_ = pod.grace_period;
  last_error_.clear();
  if (listener_) listener_(pod);
  announce();
  core::PodSeen seen{pod_state(pod), *asked_at_, std::nullopt, std::nullopt};
  if (pod.deletion_timestamp) {
    seen.deadline = deadline_of(pod, answer.value(), loop_.wall_now());
    if (pod.deletion_grace_period) seen.grace = *pod.deletion_grace_period;
  }
  emit_(seen);
}

// The object is no more, or its name belongs to a successor: ours was deleted by force.
void OwnPod::on_gone() {
  reading_ = false;
  log_.write(report::Level::kWarn, "own-pod-gone", {{"pod", name_.name}, {"uid", name_.uid}});
  emit_(core::PodSeen{core::PodState::kDeleted, *asked_at_, std::nullopt, std::nullopt});
}

void OwnPod::on_failure(const net::Error& error) {
  if (error.message != last_error_) {
    last_error_ = error.message;
    log_.write(report::Level::kWarn, "own-pod-unreadable", {{"error", error.message}});
  }
  retry_->arm(loop_.now() + backoff_.next(loop_.random(), error.retry_after));
}

}  // namespace lastcall::observe
