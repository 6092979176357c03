// A Loop with virtual time: nothing happens until the test says how long to wait.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <utility>

#include "net/loop.h"

namespace lastcall::fakes {

class FakeLoop final : public net::Loop {
 public:
  explicit FakeLoop(std::uint32_t seed = 1) : random_(seed) {}

  [[nodiscard]] net::Instant now() const override { return now_; }
  [[nodiscard]] net::WallTime wall_now() const override {
    return wall_at_start_ + std::chrono::duration_cast<net::WallTime::duration>(now_ - kStart);
  }
  [[nodiscard]] std::unique_ptr<net::Timer> make_timer(std::function<void()> callback) override {
    return std::make_unique<FakeTimer>(*this, std::move(callback));
  }
  [[nodiscard]] std::uint32_t random() override { return static_cast<std::uint32_t>(random_()); }

  // Fires what is due up to now + `duration`, each at its time, and ends there.
  void advance(net::Duration duration) {
    const net::Instant end = now_ + duration;
    while (!armed_.empty() && armed_.begin()->first.first <= end) fire_first();
    now_ = end;
  }
  // Fires what is due already; aborts when that never ends.
  void run_until_idle() {
    for (int turns = 0; !armed_.empty() && armed_.begin()->first.first <= now_; ++turns) {
      if (turns == kTurnsMax) std::abort();
      fire_first();
    }
  }
  // Goes on to the next timer, however far away; false when there is none.
  bool run_next() {
    if (armed_.empty()) return false;
    fire_first();
    return true;
  }
  [[nodiscard]] std::optional<net::Instant> next_timer() const {
    if (armed_.empty()) return std::nullopt;
    return armed_.begin()->first.first;
  }
  [[nodiscard]] std::size_t armed_timers() const { return armed_.size(); }

  // The date jumps; monotonic time does not.
  void set_wall_now(net::WallTime wall) { wall_at_start_ += wall - wall_now(); }

 private:
  static constexpr int kTurnsMax = 100'000;
  // Not zero, so that a default-constructed Instant is long ago, as on a real machine.
  static constexpr net::Instant kStart{std::chrono::hours(1)};

  using Callback = std::function<void()>;
  // Timers of one instant fire in the order of their arming.
  using Key = std::pair<net::Instant, std::uint64_t>;

  class FakeTimer final : public net::Timer {
   public:
    FakeTimer(FakeLoop& loop, Callback callback)
        : loop_(loop), callback_(std::make_shared<Callback>(std::move(callback))) {}
    ~FakeTimer() override { disarm(); }
    FakeTimer(const FakeTimer&) = delete;
    FakeTimer& operator=(const FakeTimer&) = delete;

    void arm(net::Instant when) override {
      disarm();
      key_ = {when, ++loop_.armings_};
      loop_.armed_.emplace(key_, callback_);
    }
    void disarm() override { loop_.armed_.erase(key_); }

   private:
    FakeLoop& loop_;
    std::shared_ptr<Callback> callback_;
    Key key_;
  };

  void fire_first() {
    const auto first = armed_.begin();
    now_ = std::max(now_, first->first.first);
    // Kept alive: the callback may destroy its timer.
    const std::shared_ptr<Callback> callback = first->second;
    armed_.erase(first);
    (*callback)();
  }

  net::Instant now_ = kStart;
  net::WallTime wall_at_start_{std::chrono::sys_days(std::chrono::year(2026) / 1 / 2)};
  std::mt19937 random_;
  std::map<Key, std::shared_ptr<Callback>> armed_;
  std::uint64_t armings_ = 0;
};

}  // namespace lastcall::fakes
