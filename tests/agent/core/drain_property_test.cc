// Random stops: whatever happens, and in whatever order, some things always hold (DESIGN 2).
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "tests/agent/core/stop.h"

namespace lastcall::core {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr std::uint64_t kSeeds = 3000;
constexpr int kEventsPerStop = 60;
// More wakeups than these between two events are a busy loop: one per consumer, hook and limit
// would do.
constexpr int kWakeupsMax = 64;

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}

  // From 0 to below `n`.
  std::uint64_t below(std::uint64_t n) { return engine_() % n; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  // In steps of 500 ms, so that several things often fall on one instant.
  Duration up_to(Duration most) {
    const auto steps = static_cast<std::uint64_t>(most / 500ms) + 1;
    return static_cast<int>(below(steps)) * Duration(500ms);
  }

 private:
  std::mt19937_64 engine_;
};

// Of those that say when one consumer is gone.
Thresholds random_evidence(Dice& dice) {
  Thresholds thresholds;
  if (dice.one_in(2)) thresholds.settle.value = dice.up_to(40s);
  if (dice.one_in(3)) thresholds.blind.value = dice.up_to(40s);
  if (dice.one_in(4)) thresholds.last_endpoint.value = LastEndpoint::kIgnore;
  return thresholds;
}

Thresholds random_thresholds(Dice& dice) {
  Thresholds thresholds = random_evidence(dice);
  if (dice.one_in(3)) thresholds.quiet.value = dice.up_to(5s);
  if (dice.one_in(3)) thresholds.hold_min.value = dice.up_to(20s);
  if (dice.one_in(3)) thresholds.hold_max.value = dice.up_to(60s);
  if (dice.one_in(3)) thresholds.drain_max.value = dice.up_to(30s);
  if (dice.one_in(3)) thresholds.reserve.value = dice.up_to(40s);
  return thresholds;
}

Policy random_policy(Dice& dice) {
  Policy policy;
  policy.thresholds = random_thresholds(dice);
  policy.has_proxy = dice.one_in(2);
  policy.silence.value = dice.one_in(2);
  if (dice.one_in(3)) policy.drain_min.value = dice.up_to(10s);
  if (dice.one_in(3)) policy.margin.value = dice.up_to(5s);
  return policy;
}

// The longest of a limit that all of them set; nullopt: somebody sets none.
std::optional<Duration> longest(const std::vector<ConsumerState>& consumers,
                                Sourced<std::optional<Duration>> Thresholds::*limit) {
  std::optional<Duration> longest;
  for (const auto& one : consumers) {
    const auto& value = (one.thresholds.*limit).value;
    if (!value) return std::nullopt;
    longest = std::max(longest.value_or(0s), *value);
  }
  return longest;
}

// A Drain, and what every step of it has to keep.
class World {
 public:
  World(std::uint64_t seed, bool bounded_to_grace)
      : dice_(seed), policy_(random_policy(dice_)), drain_(policy_) {
    if (bounded_to_grace || dice_.one_in(2)) tell(GraceLearnt{dice_.up_to(120s)});
  }

  [[nodiscard]] const Drain& drain() const { return drain_; }
  [[nodiscard]] const Policy& policy() const { return policy_; }
  [[nodiscard]] Instant now() const { return now_; }
  Dice& dice() { return dice_; }

  void random_event() {
    switch (dice_.below(15)) {
      case 0:
        return arrive(dice_.one_in(4) ? Trust::kLocal : Trust::kNetwork);
      case 1:
        return leave();
      case 2:
        return see_pod();
      case 3:
        return tell(ConsumerKnown{some_consumer(), random_thresholds(dice_)});
      case 4:
        if (dice_.one_in(6)) return tell(ConsumerDropped{some_consumer()});
        return;
      case 5:
      case 6:
      case 7:
      case 8:
        return tell(Observed{some_consumer(), static_cast<Presence>(dice_.below(4)), ""});
      case 9:
      case 10:
        return tell(TrafficSeen{dice_.one_in(2) ? 0 : dice_.below(200), dice_.one_in(4), 1s});
      case 11:
      case 12: {
        std::optional<std::uint64_t> active;
        if (!dice_.one_in(3)) active = dice_.below(3);
        return tell(ConnectionsSeen{active});
      }
      case 13:
        if (dice_.one_in(6)) return tell(PolicyChanged{random_thresholds(dice_)});
        return;
      default:
        if (dice_.one_in(30)) return tell(ReleaseOrdered{});
        if (dice_.one_in(30)) return tell(DrainOrdered{});
        if (dice_.one_in(10)) return tell(GraceLearnt{dice_.up_to(120s)});
    }
  }

  void tell(const Event& event) { check(drain_.on_event(event, now_)); }

  // Wakes the Drain when it asked to be woken, up to `target`; in between, time alone does nothing.
  void advance(Instant target) {
    int wakeups = 0;
    while (const auto next = drain_.next_wakeup()) {
      ASSERT_LE(++wakeups, kWakeupsMax);
      if (*next > target) break;
      const Instant between = now_ + (*next - now_) / 2;
      if (between < *next) {
        ASSERT_TRUE(drain_.on_time(between).empty());
      }
      now_ = *next;
      check(drain_.on_time(now_));
      ASSERT_FALSE(testing::Test::HasFatalFailure());
    }
    now_ = target;
    ASSERT_TRUE(drain_.on_time(now_).empty());
  }

  void finish() {
    int wakeups = 0;
    while (const auto next = drain_.next_wakeup()) {
      ASSERT_LE(++wakeups, kWakeupsMax);
      now_ = *next;
      check(drain_.on_time(now_));
      ASSERT_FALSE(testing::Test::HasFatalFailure());
    }
    EXPECT_TRUE(drain_.phase() == Phase::kServing || drain_.phase() == Phase::kReleased);
    EXPECT_TRUE(waiting_.empty()) << waiting_.size() << " hooks were never answered";
  }

 private:
  static ConsumerId consumer(std::uint64_t number) { return {"slices", std::to_string(number)}; }
  ConsumerId some_consumer() { return consumer(dice_.below(4)); }

  void arrive(Trust trust) {
    waiting_.insert(++hooks_);
    tell(HookArrived{hooks_, trust});
  }

  void leave() {
    if (waiting_.empty()) return;
    const HookId hook =
        *std::next(waiting_.begin(), static_cast<std::ptrdiff_t>(dice_.below(waiting_.size())));
    waiting_.erase(hook);
    tell(HookLeft{hook});
  }

  void see_pod() {
    PodSeen seen{PodState::kLiving, now_ - dice_.up_to(3s), {}, {}};
    if (dice_.one_in(4)) seen.state = PodState::kStopping;
    if (dice_.one_in(4)) {
      seen.state = PodState::kDeleted;
      if (!dice_.one_in(4)) seen.grace = dice_.up_to(120s);
      if (!dice_.one_in(4)) seen.deadline = now_ - 2s + dice_.up_to(120s);
    }
    tell(seen);
  }

  void check(const std::vector<Action>& actions) {
    const Phase before = phase_;
    for (const auto& action : actions) {
      std::visit([this](const auto& one) { check_action(one); }, action);
      if (before == Phase::kReleased) {
        EXPECT_TRUE(std::holds_alternative<AnswerHook>(action));
      }
    }
    EXPECT_EQ(drain_.phase(), phase_);
    const Snapshot seen = drain_.snapshot();
    check_wakeup(seen);
    check_outcome(seen);
    EXPECT_EQ(seen.hooks_waiting, waiting_.size());
    if (phase_ == Phase::kReleased) {
      EXPECT_TRUE(waiting_.empty());
    }
  }

  template <class Other>
  void check_action(const Other&) {}

  void check_action(const PhaseEntered& entered) {
    EXPECT_GT(entered.phase, phase_) << "phases never go back, and each is entered once";
    phase_ = entered.phase;
  }
  void check_action(const BeginObserving&) { EXPECT_EQ(++observing_begun_, 1); }
  void check_action(const EndObserving&) {
    EXPECT_EQ(observing_begun_, 1);
    EXPECT_EQ(++observing_ended_, 1);
  }
  void check_action(const DrainProxy&) {
    EXPECT_TRUE(policy_.has_proxy);
    EXPECT_EQ(++proxy_drained_, 1);
    EXPECT_NE(drain_.snapshot().hold_end, HoldEnd::kPodLives);
  }
  void check_action(const AnswerHook& answered) {
    EXPECT_EQ(waiting_.erase(answered.id), 1U) << "hook " << answered.id << " does not wait";
  }

  void check_wakeup(const Snapshot& seen) {
    const auto next = drain_.next_wakeup();
    if (next) {
      EXPECT_GT(*next, now_) << "a busy loop";
    }
    if (phase_ == Phase::kReleased) {
      EXPECT_FALSE(next);
    }
    if (phase_ != Phase::kHolding && phase_ != Phase::kDraining) {
      EXPECT_FALSE(seen.limit);
      return;
    }
    ASSERT_TRUE(next && seen.limit && seen.deadline);
    EXPECT_LE(*next, *seen.limit);
    EXPECT_LE(*seen.limit, *seen.deadline - policy_.margin.value);
    const auto hold_max = longest(seen.consumers, &Thresholds::hold_max);
    if (phase_ == Phase::kHolding && hold_max) {
      EXPECT_LE(*seen.limit, *seen.hold_started + *hold_max);
    }
    const auto drain_max = longest(seen.consumers, &Thresholds::drain_max);
    if (phase_ == Phase::kDraining && drain_max) {
      EXPECT_LE(*seen.limit, *seen.drain_started + *drain_max);
    }
  }

  void check_outcome(const Snapshot& seen) {
    EXPECT_EQ(seen.hold_started.has_value(), phase_ != Phase::kServing);
    EXPECT_EQ(seen.trigger.has_value(), phase_ != Phase::kServing);
    EXPECT_EQ(seen.hold_end.has_value(), phase_ >= Phase::kDraining);
    EXPECT_EQ(seen.drain_end.has_value(), phase_ == Phase::kReleased);
    EXPECT_EQ(seen.released.has_value(), phase_ == Phase::kReleased);
    for (const auto& one : seen.consumers) {
      EXPECT_EQ(one.gone_at.has_value(), one.gone_by.has_value());
      const bool may_choose_us =
          one.presence == Presence::kRoutable || one.presence == Presence::kLastResort;
      if (may_choose_us) {
        EXPECT_FALSE(one.gone_at || one.withdrawn_at);
      }
    }
    // Not released while a consumer is routable, unless something forced it, which is told.
    if (seen.hold_end == HoldEnd::kAllGone) {
      EXPECT_TRUE(seen.still_there.empty());
    }
  }

  Dice dice_;
  Policy policy_;
  Drain drain_;
  Instant now_ = Instant{} + 1000h;
  Phase phase_ = Phase::kServing;
  HookId hooks_ = 0;
  std::set<HookId> waiting_;
  int observing_begun_ = 0;
  int observing_ended_ = 0;
  int proxy_drained_ = 0;
};

TEST(DrainProperty, AnyStopKeepsItsInvariants) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    World world(seed, false);
    for (int i = 0; i < kEventsPerStop && !testing::Test::HasFailure(); ++i) {
      world.random_event();
      if (world.dice().one_in(2)) world.advance(world.now() + world.dice().up_to(4s));
    }
    world.finish();
    if (testing::Test::HasFailure()) return;
  }
}

// S2, to the instant: with nothing to wait for but time, the release is at its limit.
TEST(DrainProperty, WakeupsAloneReachTheReleaseExactlyAtTheLimit) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    World world(seed, true);
    world.tell(ConsumerKnown{{"slices", "stays"}, random_thresholds(world.dice())});
    const Duration grace = 1s + world.dice().up_to(120s);
    world.tell(PodSeen{PodState::kDeleted, world.now(), world.now() + grace, grace});
    world.tell(Observed{{"slices", "stays"}, Presence::kRoutable, ""});
    Instant expected = world.now();
    while (world.drain().phase() != Phase::kReleased) {
      expected = *world.drain().snapshot().limit;
      const Instant least =
          world.drain().phase() == Phase::kDraining && !world.policy().has_proxy
              ? *world.drain().snapshot().drain_started + world.policy().drain_min.value
              : expected;
      expected = std::min(expected, least);
      world.advance(expected);
      ASSERT_FALSE(HasFailure());
    }
    EXPECT_EQ(*world.drain().snapshot().released, expected);
    if (HasFailure()) return;
  }
}

// S3: once everything has healed, the release comes within the longest settle and quiet.
TEST(DrainProperty, AHealedWorldReleasesWithinTheLongestSettleAndQuiet) {
  constexpr auto kReportEvery = 100ms;
  for (std::uint64_t seed = 0; seed < kSeeds / 10; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Dice dice(seed);
    Policy policy;
    policy.thresholds.quiet.value = dice.up_to(5s);
    Drain drain(policy);
    Instant now = Instant{} + 1000h;
    const auto tell = [&](const Event& event) { (void)drain.on_event(event, now); };

    Duration settle_longest{};
    std::vector<ConsumerId> consumers;
    for (std::uint64_t i = 0; i <= dice.below(4); ++i) {
      consumers.push_back({"slices", std::to_string(i)});
      Thresholds thresholds = random_evidence(dice);
      thresholds.quiet = policy.thresholds.quiet;
      settle_longest = std::max(settle_longest, thresholds.settle.value);
      tell(ConsumerKnown{consumers.back(), thresholds});
    }
    tell(PodSeen{PodState::kDeleted, now, now + 1h, 1h});
    for (const auto& id : consumers) tell(Observed{id, Presence::kRoutable, ""});
    for (int i = 0; i < 200; ++i) {
      now += kReportEvery;
      tell(TrafficSeen{dice.below(10), true, kReportEvery});
      // One stays, so that the hold does not end before the world has healed.
      if (i == 0 || consumers.size() == 1) continue;
      const auto& id = consumers[1 + dice.below(consumers.size() - 1)];
      tell(Observed{id, static_cast<Presence>(dice.below(4)), ""});
    }
    ASSERT_EQ(drain.phase(), Phase::kHolding);

    const Instant healed = now;
    for (const auto& id : consumers) tell(Observed{id, Presence::kWithdrawn, ""});
    while (drain.phase() == Phase::kHolding && now < healed + 1h) {
      now += kReportEvery;
      tell(TrafficSeen{0, false, kReportEvery});
    }
    EXPECT_EQ(drain.snapshot().hold_end, HoldEnd::kAllGone);
    EXPECT_LE(now - healed,
              std::max<Duration>(settle_longest, policy.thresholds.quiet.value) + kReportEvery);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace lastcall::core
