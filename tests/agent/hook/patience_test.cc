#include "agent/hook/patience.h"

#include <gtest/gtest.h>

namespace lastcall::hook {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const TimePoint kStart = TimePoint() + std::chrono::hours(1);

TEST(HookPatience, RetriesAtAnEvenPaceUntilTheFallback) {
  const Patience patience(kStart, std::nullopt, seconds(25));
  EXPECT_EQ(patience.retry_at(kStart), kStart + kRetryPause);
  EXPECT_EQ(patience.retry_at(kStart + seconds(24)), kStart + seconds(24) + kRetryPause);
}

TEST(HookPatience, MakesTheLastAttemptAtTheFallbackAndNoneAfterIt) {
  const Patience patience(kStart, std::nullopt, seconds(25));
  EXPECT_EQ(patience.retry_at(kStart + milliseconds(24900)), kStart + seconds(25));
  EXPECT_EQ(patience.retry_at(kStart + seconds(25)), std::nullopt);
}

TEST(HookPatience, IsEndlessOnceTheAgentHoldsTheRequest) {
  EXPECT_EQ(Patience(kStart, std::nullopt, seconds(25)).answer_by(), std::nullopt);
  EXPECT_FALSE(Patience(kStart, std::nullopt, seconds(25)).timed_out(kStart + seconds(86400)));
}

TEST(HookPatience, EndsWithTheTimeoutWhateverHappens) {
  const Patience patience(kStart, seconds(10), seconds(25));
  EXPECT_EQ(patience.answer_by(), kStart + seconds(10));
  EXPECT_EQ(patience.reach_by(), kStart + seconds(10));
  EXPECT_FALSE(patience.timed_out(kStart + milliseconds(9999)));
  EXPECT_TRUE(patience.timed_out(kStart + seconds(10)));
  EXPECT_EQ(patience.retry_at(kStart + seconds(10)), std::nullopt);
}

TEST(HookPatience, WaitsForARestartOfAnAgentThatHeldTheRequestThroughTheFallback) {
  Patience patience(kStart, std::nullopt, seconds(25));
  const TimePoint now = kStart + seconds(60);
  patience.lost(kStart, now);
  EXPECT_EQ(patience.reach_by(), now + kRestartMax);
  EXPECT_EQ(patience.retry_at(now), now + kRetryPause);
  EXPECT_EQ(patience.retry_at(now + kRestartMax), std::nullopt);
}

TEST(HookPatience, WaitsForARestartNoLongerThanForTheFallback) {
  Patience patience(kStart, std::nullopt, seconds(2));
  patience.lost(kStart, kStart + seconds(60));
  EXPECT_EQ(patience.reach_by(), kStart + seconds(62));
}

TEST(HookPatience, WaitsForOneRestartOnly) {
  Patience patience(kStart, std::nullopt, seconds(25));
  patience.lost(kStart, kStart + seconds(60));
  patience.lost(kStart + seconds(61), kStart + seconds(90));
  EXPECT_EQ(patience.retry_at(kStart + seconds(90)), std::nullopt);
}

TEST(HookPatience, GrantsNothingToAnAgentThatIsLostBeforeTheFallback) {
  Patience patience(kStart, std::nullopt, seconds(25));
  patience.lost(kStart, kStart + seconds(10));
  EXPECT_EQ(patience.reach_by(), kStart + seconds(25));
}

TEST(HookPatience, GrantsNothingToAnAgentThatGotTheRequestAtTheLastAttempt) {
  Patience patience(kStart, std::nullopt, seconds(25));
  patience.lost(kStart + seconds(25), kStart + seconds(25));
  EXPECT_EQ(patience.retry_at(kStart + seconds(25)), std::nullopt);
}

}  // namespace
}  // namespace lastcall::hook
