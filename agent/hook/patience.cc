#include "agent/hook/patience.h"

#include <algorithm>

namespace lastcall::hook {
namespace {

std::optional<TimePoint> after(TimePoint start, std::optional<Milliseconds> duration) {
  if (!duration) return std::nullopt;
  return start + *duration;
}

}  // namespace

Patience::Patience(TimePoint start, std::optional<Milliseconds> timeout, Milliseconds fallback)
    : timeout_at_(after(start, timeout)),
      restart_(std::min(fallback, kRestartMax)),
      fallback_at_(start + fallback) {}

TimePoint Patience::reach_by() const {
  return timeout_at_ ? std::min(*timeout_at_, fallback_at_) : fallback_at_;
}

void Patience::lost(TimePoint held_since, TimePoint now) {
  const bool held_through = held_since < fallback_at_ && now >= fallback_at_;
  if (!held_through || restart_granted_) return;
  restart_granted_ = true;
  fallback_at_ = now + restart_;
}

std::optional<TimePoint> Patience::retry_at(TimePoint now) const {
  if (now >= reach_by()) return std::nullopt;
  return std::min(now + kRetryPause, reach_by());
}

}  // namespace lastcall::hook
