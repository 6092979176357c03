// One thread's world: the time, timers, and a source of jitter.
//
// Everything in lastcall runs on one thread and is called back from one Loop. The Loop is a
// seam: production uses EventLoop (libevent), the simulation a virtual clock. Nothing else
// reads a clock.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

namespace lastcall::net {

// Monotonic time. Every deadline and every duration measured by lastcall is of this kind.
using Instant = std::chrono::steady_clock::time_point;
// The machine's idea of the date; may jump. Only for signing, token expiry and display.
using WallTime = std::chrono::system_clock::time_point;
using Duration = std::chrono::nanoseconds;

// A one-shot timer. Owned by whoever asked for it; destroying it disarms it. The callback
// may re-arm or destroy the timer.
class Timer {
 public:
  virtual ~Timer() = default;
  // Fires once at or after `when`, never before; replaces an earlier arming. An instant in
  // the past fires on the next turn of the loop, never from inside this call.
  virtual void arm(Instant when) = 0;
  virtual void disarm() = 0;
};

class Loop {
 public:
  virtual ~Loop() = default;

  // Sampled once per turn of the loop: equal within a callback, never going back.
  [[nodiscard]] virtual Instant now() const = 0;
  [[nodiscard]] virtual WallTime wall_now() const = 0;

  [[nodiscard]] virtual std::unique_ptr<Timer> make_timer(std::function<void()> callback) = 0;

  // Uniformly distributed; for jitter, never for secrets.
  [[nodiscard]] virtual std::uint32_t random() = 0;
};

}  // namespace lastcall::net
