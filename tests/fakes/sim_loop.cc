#include "tests/fakes/sim_loop.h"

#include <algorithm>

namespace lastcall::fakes {
namespace {

// 2026-01-05T09:00:00Z, when the simulated machine starts.
constexpr std::chrono::seconds kEpoch{1'767'603'600};

}  // namespace

class SimLoop::SimTimer final : public net::Timer {
 public:
  SimTimer(SimLoop& loop, std::function<void()> callback)
      : loop_(loop), callback_(std::make_shared<std::function<void()>>(std::move(callback))) {}
  ~SimTimer() override { loop_.due_.erase(key_); }
  SimTimer(const SimTimer&) = delete;
  SimTimer& operator=(const SimTimer&) = delete;

  void arm(net::Instant when) override {
    loop_.due_.erase(key_);
    key_ = {std::max(when, loop_.now_), ++loop_.sequence_};
    loop_.due_.emplace(key_, callback_);
  }
  void disarm() override { loop_.due_.erase(key_); }

 private:
  SimLoop& loop_;
  Callback callback_;
  Key key_{};
};

// Instants start at a number that nobody can take for a default.
SimLoop::SimLoop(std::uint64_t seed) : now_(std::chrono::hours(1)), random_(seed) {}

std::unique_ptr<net::Timer> SimLoop::make_timer(std::function<void()> callback) {
  return std::make_unique<SimTimer>(*this, std::move(callback));
}

void SimLoop::at(net::Instant when, std::function<void()> callback) {
  due_.emplace(Key{std::max(when, now_), ++sequence_},
               std::make_shared<std::function<void()>>(std::move(callback)));
}

bool SimLoop::step(net::Instant end) {
  if (due_.empty() || due_.begin()->first.first > end) {
    now_ = std::max(now_, end);
    return false;
  }
  const auto next = due_.extract(due_.begin());
  now_ = next.key().first;
  (*next.mapped())();
  return true;
}

net::WallTime SimLoop::true_wall() const {
  const auto run = now_.time_since_epoch() - std::chrono::hours(1);
  return net::WallTime(kEpoch) + std::chrono::duration_cast<net::WallTime::duration>(run);
}

}  // namespace lastcall::fakes
