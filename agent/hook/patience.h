// How long `lastcall-hook wait` waits: the decision, without clock or sockets.
#pragma once

#include <chrono>
#include <optional>

#include "config/duration.h"

namespace lastcall::hook {

using config::Milliseconds;
using TimePoint = std::chrono::steady_clock::time_point;

// Between two attempts to reach the agent.
inline constexpr Milliseconds kRetryPause{250};

// A crashed container is restarted at once the first time, and after 10 s the second time: one
// restart is worth waiting for, another would eat the time that the drain needs.
inline constexpr Milliseconds kRestartMax = std::chrono::seconds(5);

class Patience {
 public:
  // `timeout` and `fallback` count from `start`, the start of the hook.
  Patience(TimePoint start, std::optional<Milliseconds> timeout, Milliseconds fallback);

  // When to stop waiting for the answer to a request that the agent holds; nullopt: never.
  [[nodiscard]] std::optional<TimePoint> answer_by() const { return timeout_at_; }

  // Whether the wait is over whatever the agent says.
  [[nodiscard]] bool timed_out(TimePoint now) const { return timeout_at_ && now >= *timeout_at_; }

  // When to stop trying to reach the agent.
  [[nodiscard]] TimePoint reach_by() const;

  // The agent, which had held the request since `held_since`, was lost at `now`. A restart of
  // the agent must lose nothing but time: when it had the request before the fallback and is
  // lost after it, it gets time to come back, once.
  void lost(TimePoint held_since, TimePoint now);

  // When to try again after a failure at `now`; nullopt: no more.
  [[nodiscard]] std::optional<TimePoint> retry_at(TimePoint now) const;

 private:
  const std::optional<TimePoint> timeout_at_;
  const Milliseconds restart_;
  TimePoint fallback_at_;
  bool restart_granted_ = false;
};

}  // namespace lastcall::hook
