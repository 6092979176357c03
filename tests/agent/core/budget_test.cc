// What a grace period leaves for the hold.
#include "agent/core/budget.h"

#include <chrono>
#include <optional>

#include <gtest/gtest.h>

namespace lastcall::core {
namespace {

using namespace std::chrono_literals;

ConsumerState consumer(Duration settle, std::optional<Duration> reserve = std::nullopt) {
  ConsumerState state;
  state.thresholds.settle.value = settle;
  state.thresholds.reserve.value = reserve;
  return state;
}

TEST(Budget, KeepsTenSecondsOrAThird) {
  EXPECT_EQ(budget(60s, {}, {}).hold, 50s);
  EXPECT_EQ(budget(30s, {}, {}).hold, 20s);
  EXPECT_EQ(budget(9s, {}, {}).hold, 6s);
}

TEST(Budget, KeepsTheMarginWhenThatIsLonger) {
  Policy policy;
  policy.margin.value = 5s;
  policy.thresholds.reserve.value = 2s;
  EXPECT_EQ(budget(30s, policy, {}).hold, 25s);
}

TEST(Budget, KeepsTheLongestReserveOfAllConsumers) {
  EXPECT_EQ(budget(60s, {}, {consumer(3s, 20s), consumer(3s, 25s)}).kept, 25s);
  EXPECT_EQ(budget(60s, {}, {consumer(3s, 2s), consumer(3s)}).kept, 10s);
}

TEST(Budget, NeverLeavesLessThanNothing) {
  EXPECT_EQ(budget(10s, {}, {consumer(3s, 25s)}).hold, 0s);
}

TEST(Budget, SaysWhatDoesNotFitIntoTheUsualGracePeriod) {
  const Budget usual = budget(30s, {}, {consumer(3s)});
  EXPECT_TRUE(usual.settle_fits());
  EXPECT_EQ(usual.settle_needs, 4s);
  EXPECT_FALSE(usual.blind_fits());
  EXPECT_EQ(usual.grace_needed, 35s);
}

TEST(Budget, TheGracePeriodItAsksForIsEnough) {
  for (const Duration settle : {1s, 3s, 19s, 20s, 21s, 40s, 120s}) {
    for (const std::optional<Duration> reserve :
         {std::optional<Duration>(), std::optional<Duration>(0s), std::optional<Duration>(30s)}) {
      Policy policy;
      policy.thresholds.blind.value = 2s;
      ConsumerState quick = consumer(settle, reserve);
      quick.thresholds.blind.value = 2s;
      const Duration needed = budget(5s, policy, {quick}).grace_needed;
      EXPECT_TRUE(budget(needed, policy, {quick}).settle_fits());
      EXPECT_FALSE(budget(needed - 1ms, policy, {quick}).settle_fits());
    }
  }
}

}  // namespace
}  // namespace lastcall::core
