// A Loop whose clock is a number: time passes only from one timer to the next.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "net/loop.h"
#include "tests/fakes/random_source.h"

namespace lastcall::fakes {

class SimLoop final : public net::Loop {
 public:
  explicit SimLoop(std::uint64_t seed);

  [[nodiscard]] net::Instant now() const override { return now_; }
  [[nodiscard]] net::WallTime wall_now() const override { return true_wall() + wall_offset_; }
  [[nodiscard]] std::unique_ptr<net::Timer> make_timer(std::function<void()> callback) override;
  [[nodiscard]] std::uint32_t random() override {
    return static_cast<std::uint32_t>(random_.next());
  }

  // Calls once at `when`, or on the next turn if that has passed. In the order of asking when
  // the instants are equal.
  void at(net::Instant when, std::function<void()> callback);
  void after(net::Duration delay, std::function<void()> callback) {
    at(now_ + delay, std::move(callback));
  }

  // Goes to the next due timer and runs it; false when there is none until `end`, and then the
  // clock stands at `end`.
  bool step(net::Instant end);
  void run_until(net::Instant end) {
    while (step(end)) {
    }
  }
  void run_for(net::Duration duration) { run_until(now_ + duration); }

  // What wall_now() would be had it never jumped.
  [[nodiscard]] net::WallTime true_wall() const;
  void jump_wall(net::Duration by) {
    wall_offset_ += std::chrono::duration_cast<net::WallTime::duration>(by);
  }

 private:
  class SimTimer;
  using Key = std::pair<net::Instant, std::uint64_t>;
  using Callback = std::shared_ptr<std::function<void()>>;

  net::Instant now_{};
  net::WallTime::duration wall_offset_{};
  RandomSource random_;
  std::uint64_t sequence_ = 0;
  std::map<Key, Callback> due_;
};

}  // namespace lastcall::fakes
