// Found by review: what once went wrong, and must not again.
#include <gtest/gtest.h>

#include "tests/agent/core/stop.h"

namespace lastcall::core {
namespace {

using namespace std::chrono_literals;
using std::nullopt;

template <class Change>
Policy policy(Change change) {
  Policy policy;
  change(policy);
  return policy;
}

// A hook that arrives in an unverified hold is answered by a reading begun before it.
TEST(DrainRegression, ALivingPodAnswersNoHookThatCameAfterItsReadingBegan) {
  Stop stop;
  stop.known("a").tell(GraceLearnt{60s}).local_hook(1).at(1s).routable("a");
  stop.at(3s).network_hook(2);  // this one is the real stop
  stop.at(4s).living(2s);
  EXPECT_EQ(stop.answer(2), nullopt);
}

// A hook of an unverified hold has nobody look again, so that its hold can only run out.
TEST(DrainRegression, AnInconclusiveReadingInAnUnverifiedHoldIsRepeated) {
  Stop stop;
  stop.known("a").tell(GraceLearnt{60s}).local_hook(1).at(1s).routable("a");
  // The reading asked for when hook 1 came took 1.5 s. It is an answer to hook 1.
  stop.at(1500ms).living(10ms);
  EXPECT_TRUE(stop.phase() == Phase::kReleased || stop.count<AskPod>() == 2)
      << "neither believed nor repeated";
}

// Proof of deletion is forgotten: an older reading that arrives late ends the hold.
TEST(DrainRegression, ALivingPodReadBeforeTheDeletionDoesNotEndItsHold) {
  Stop stop;
  stop.known("a").tell(GraceLearnt{60s}).local_hook(1).at(1s).routable("a");
  stop.at(3s).deadline_seen(60s, 60s).at(4s).living(2s);
  EXPECT_EQ(stop.phase(), Phase::kHolding);
}
TEST(DrainRegression, ALivingPodReadBeforeTheEvictionDoesNotEndItsHold) {
  Stop stop;
  stop.known("a").tell(GraceLearnt{60s}).local_hook(1).at(1s).routable("a");
  stop.at(3s).evicted().at(4s).living(2s);
  EXPECT_EQ(stop.phase(), Phase::kHolding);
}

// A network caller shortens a stop: a hook that waits since before the stop counts as its
// first sign.
TEST(DrainRegression, ANetworkHookFromBeforeTheStopDoesNotShortenIt) {
  Stop stop;
  stop.known("a").tell(GraceLearnt{30s});
  stop.network_hook(1);          // anyone; the API is down
  stop.at(19s).network_hook(2);  // the kubelet
  stop.at(19500ms).deadline_seen(49s, 30s).routable("a");
  EXPECT_EQ(stop.deadline(), After(49s));
  EXPECT_EQ(stop.limit(), After(39s));
}
TEST(DrainRegression, ANetworkHookDoesNotShortenATrustedHold) {
  Stop stop;
  stop.known("a").tell(GraceLearnt{30s});
  stop.network_hook(1).at(18500ms).local_hook(2).at(19500ms).routable("a");
  EXPECT_EQ(stop.phase(), Phase::kHolding);
  EXPECT_EQ(stop.deadline(), After(48500ms));
}

// A trusted hook is turned away before its patience ends when the hold would be short.
TEST(DrainRegression, ATrustedHookDrainsEvenWhenThereIsNoHold) {
  Policy p;
  p.thresholds.hold_max.value = 0s;
  p.has_proxy = true;
  Stop stop(p);
  stop.known("a").tell(GraceLearnt{60s}).local_hook(1).at(2s);
  EXPECT_EQ(stop.count<DrainProxy>(), 1U);
  EXPECT_EQ(stop.answer(1), nullopt);
}
// .. and a network hook is answered before anyone could look at the pod.
TEST(DrainRegression, ANetworkHookIsVerifiedEvenWhenThereIsNoHold) {
  Policy p;
  p.thresholds.hold_max.value = 0s;
  p.has_proxy = true;
  Stop stop(p);
  stop.known("a").network_hook(1).at(10ms).deleted(60s);
  EXPECT_EQ(stop.answer(1), nullopt) << "the proxy has to drain first";
}

// An operator's order is lost in an unverified hold.
TEST(DrainRegression, AnOperatorsOrderOutlivesTheSightOfALivingPod) {
  Stop stop;
  stop.known("a").tell(GraceLearnt{60s}).local_hook(1).at(1s).routable("a");
  stop.at(2s).tell(DrainOrdered{}).at(4s).living(3s);
  EXPECT_EQ(stop.phase(), Phase::kHolding);
}

// Quiet is taken from a report however old.
TEST(DrainRegression, AnOldReportDoesNotSayThatItIsQuietNow) {
  Stop stop;
  stop.known("a").traffic(0).at(2s).traffic(0).at(1h).deleted(60s).withdrawn("a");
  stop.at(1h + 4s);
  EXPECT_EQ(stop.phase(), Phase::kHolding) << "the last report is an hour old";
}

// A burst long ago makes a rate that later silence is held against.
TEST(DrainRegression, AnOldBurstIsNoRate) {
  Thresholds alb;
  alb.settle.value = 30s;
  Stop stop;
  stop.known("alb", alb).deleted(600s).routable("alb").at(1s).traffic(6000);
  for (Duration t = 2s; t <= 60s; t += 1s) stop.at(t).traffic(t % 10s == 0s ? 1 : 0);
  stop.withdrawn("alb");  // 0.1 arrivals per second for a minute, 100 on average
  stop.at(63s).traffic(0);
  EXPECT_EQ(stop.gone("alb"), nullopt) << "3 s without one are nothing unusual here";
}

// A changed last-endpoint has no effect on what was seen.
TEST(DrainRegression, AChangedLastEndpointIsAppliedToWhatWasSeen) {
  Thresholds ignore;
  ignore.last_endpoint.value = LastEndpoint::kIgnore;
  Stop stop;
  stop.known("a").deleted(60s).last_resort("a").at(5s).known("a", ignore).at(40s);
  EXPECT_EQ(stop.released(), After(8s));
}

// The outcome changes after the release.
TEST(DrainRegression, TheOutcomeStandsAfterTheRelease) {
  Stop stop;
  stop.known("a").evicted().at(1s).tell(ReleaseOrdered{});
  ASSERT_TRUE(stop.may_be_followed());
  stop.at(2s).dropped("a").deleted(60s).tell(GraceLearnt{7s});
  EXPECT_EQ(stop.outcome().consumers.size(), 1U);
  EXPECT_FALSE(stop.outcome().deadline_proven);
  EXPECT_TRUE(stop.may_be_followed()) << "the deletion is another stop";
}
TEST(DrainRegression, WhoWasStillThereIsAmongTheConsumers) {
  Policy p;
  p.has_proxy = true;
  p.thresholds.hold_max.value = 5s;
  Stop stop(p);
  stop.known("a").deleted(60s).routable("a").at(6s).dropped("a");
  ASSERT_EQ(stop.still_there().size(), 1U);
  EXPECT_EQ(stop.outcome().consumers.size(), 1U);
}

// A third of such a blind is less than the margin.
TEST(DrainRegression, AShortBlindIsHeldForInFullWhenTheGracePeriodIsUnknown) {
  Policy p;
  p.thresholds.blind.value = 2s;
  Stop stop(p);
  stop.known("a").local_hook(1).at(10s);
  EXPECT_EQ(stop.drain_began(), After(2s));
}

}  // namespace
}  // namespace lastcall::core
