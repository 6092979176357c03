#include "agent/core/drain.h"

#include <chrono>
#include <initializer_list>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/agent/core/stop.h"

namespace lastcall::core {
namespace {

using namespace std::chrono_literals;
using std::nullopt;
using Names = std::vector<std::string>;

template <class Change>
Policy policy(Change change) {
  Policy policy;
  change(policy);
  return policy;
}

Policy with_proxy() {
  return policy([](Policy& p) { p.has_proxy = true; });
}

Thresholds settle(Duration settle) {
  Thresholds thresholds;
  thresholds.settle.value = settle;
  return thresholds;
}

Thresholds blind(Duration blind) {
  Thresholds thresholds;
  thresholds.blind.value = blind;
  return thresholds;
}

Thresholds ignoring_last_endpoint() {
  Thresholds thresholds;
  thresholds.last_endpoint.value = LastEndpoint::kIgnore;
  return thresholds;
}

// A pod with hook 1 waiting, deleted just now with a grace period of 60 s: the deadline is at
// 60 s and its reserve begins at 50 s. `consumers` are routable.
Stop holding(std::initializer_list<const char*> consumers, const Policy& policy = {}) {
  Stop stop(policy);
  for (const char* name : consumers) stop.known(name);
  stop.network_hook(1).deleted(60s);
  for (const char* name : consumers) stop.routable(name);
  return stop;
}

// The same, draining through a proxy since 10 s.
Stop draining(Policy policy = with_proxy()) {
  policy.has_proxy = true;
  Stop stop = holding({"a"}, policy);
  stop.at(7s).withdrawn("a").at(10s);
  EXPECT_EQ(stop.phase(), Phase::kDraining);
  return stop;
}

// ---- Knowing that the pod terminates --------------------------------------------------------

TEST(Drain, ServesAndSleepsUntilSomethingHappens) {
  Stop stop;
  stop.known("a");
  EXPECT_EQ(stop.phase(), Phase::kServing);
  EXPECT_EQ(stop.next_wakeup(), nullopt);
  EXPECT_EQ(stop.limit(), nullopt);
  EXPECT_EQ(stop.deadline(), nullopt);
  EXPECT_FALSE(stop.may_be_followed());
}

TEST(Drain, LooksAtThePodWhenAHookArrives) {
  Stop stop;
  stop.network_hook(1);
  EXPECT_EQ(stop.count<AskPod>(), 1U);
  EXPECT_EQ(stop.phase(), Phase::kServing);
  EXPECT_EQ(stop.outcome().hooks_waiting, 1U);
}

TEST(Drain, HoldsWhenThePodIsDeleted) {
  Stop stop;
  stop.known("a").network_hook(1).at(10ms).deleted(60s);
  EXPECT_EQ(stop.phase(), Phase::kHolding);
  EXPECT_EQ(stop.hold_began(), After(10ms));
  EXPECT_EQ(stop.outcome().trigger, Trigger::kDeletion);
  EXPECT_EQ(stop.count<BeginObserving>(), 1U);
  EXPECT_EQ(stop.answer(1), nullopt);
}

TEST(Drain, HoldsForADeletionThatNoHookAnnounced) {
  Stop stop;
  stop.known("a").deleted(60s);
  EXPECT_EQ(stop.phase(), Phase::kHolding);
  EXPECT_EQ(stop.outcome().trigger, Trigger::kDeletion);
}

TEST(Drain, ASecondSightOfTheDeletionDoesNotHoldAnew) {
  Stop stop = holding({"a"});
  stop.at(5s).deadline_seen(60s, 60s);
  EXPECT_EQ(stop.hold_began(), After(0s));
  EXPECT_EQ(stop.count<BeginObserving>(), 1U);
}

TEST(Drain, HoldsAnEvictionForTheBlindTimeAtMost) {
  Stop stop;
  stop.known("a").tell(GraceLearnt{60s}).network_hook(1).evicted();
  EXPECT_EQ(stop.outcome().trigger, Trigger::kStopping);
  stop.routable("a").at(24s);
  EXPECT_EQ(stop.phase(), Phase::kHolding);
  stop.at(60s);
  EXPECT_EQ(stop.drain_began(), After(25s));
  EXPECT_EQ(stop.outcome().hold_end, HoldEnd::kUnproven);
  EXPECT_EQ(stop.still_there(), Names{"a"});
  EXPECT_EQ(stop.answer(1), (Answered{25s, Answer::kReleased}));
}

TEST(Drain, ADeletionLiftsTheBoundOfAnEviction) {
  Stop stop;
  stop.known("a").tell(GraceLearnt{60s}).network_hook(1).evicted().routable("a");
  EXPECT_EQ(stop.limit(), After(25s));
  stop.at(20s).deadline_seen(60s, 60s);
  EXPECT_EQ(stop.limit(), After(50s));
  EXPECT_TRUE(stop.outcome().deadline_proven);
}

TEST(Drain, HoldsWhenAnOperatorSaysSoAndLooksAtThePod) {
  Stop stop;
  stop.known("a").tell(DrainOrdered{});
  EXPECT_EQ(stop.outcome().trigger, Trigger::kOperator);
  EXPECT_EQ(stop.count<AskPod>(), 1U);
  EXPECT_EQ(stop.count<BeginObserving>(), 1U);
}

TEST(Drain, AnOperatorsHoldOfALivingPodIsBoundedByTheBlindTime) {
  Stop stop;
  stop.known("a").tell(GraceLearnt{60s}).tell(DrainOrdered{}).routable("a");
  stop.at(1s).living().at(24s);
  EXPECT_EQ(stop.phase(), Phase::kHolding);
  stop.at(25s);
  EXPECT_EQ(stop.outcome().hold_end, HoldEnd::kUnproven);
}

TEST(Drain, ASecondOrderToDrainChangesNothing) {
  Stop stop = holding({"a"});
  stop.at(5s).tell(DrainOrdered{});
  EXPECT_EQ(stop.outcome().trigger, Trigger::kDeletion);
  EXPECT_EQ(stop.hold_began(), After(0s));
}

TEST(Drain, ANetworkHookNeverStartsAHold) {
  Stop stop;
  stop.known("a").tell(GraceLearnt{60s}).network_hook(1).at(2h);
  EXPECT_EQ(stop.phase(), Phase::kServing);
  EXPECT_EQ(stop.count<BeginObserving>(), 0U);
  EXPECT_EQ(stop.count<DrainProxy>(), 0U);
}

TEST(Drain, AnUnverifiedNetworkHookIsAnsweredAfterTheBlindTime) {
  Stop stop;
  stop.tell(GraceLearnt{60s}).network_hook(1).at(2h);
  EXPECT_EQ(stop.answer(1), (Answered{25s, Answer::kUnverified}));
  EXPECT_EQ(stop.next_wakeup(), nullopt);
}

TEST(Drain, AnUnverifiedNetworkHookIsAnsweredBeforeTheReserve) {
  Stop stop;
  stop.tell(GraceLearnt{30s}).network_hook(1).at(2h);
  EXPECT_EQ(stop.answer(1), (Answered{20s, Answer::kUnverified}));
}

TEST(Drain, AnUnverifiedNetworkHookIsAnsweredWithinTheLongestHold) {
  Stop stop(policy([](Policy& p) { p.thresholds.hold_max.value = 5s; }));
  stop.tell(GraceLearnt{60s}).network_hook(1).at(2h);
  EXPECT_EQ(stop.answer(1), (Answered{5s, Answer::kUnverified}));
}

TEST(Drain, EachUnverifiedNetworkHookHasItsOwnBound) {
  Stop stop;
  stop.tell(GraceLearnt{60s}).network_hook(1).at(4s).network_hook(2).at(2h);
  EXPECT_EQ(stop.answer(1), (Answered{25s, Answer::kUnverified}));
  EXPECT_EQ(stop.answer(2), (Answered{29s, Answer::kUnverified}));
}

TEST(Drain, ALivingPodAnswersItsHookAtOnce) {
  Stop stop;
  stop.network_hook(1).at(20ms).living(10ms);
  EXPECT_EQ(stop.answer(1), (Answered{20ms, Answer::kContainerRestart}));
  EXPECT_EQ(stop.phase(), Phase::kServing);
  EXPECT_EQ(stop.next_wakeup(), nullopt);
}

TEST(Drain, ALivingPodAnswersATrustedHookToo) {
  Stop stop;
  stop.local_hook(1).at(20ms).living(10ms).at(2h);
  EXPECT_EQ(stop.answer(1), (Answered{20ms, Answer::kContainerRestart}));
  EXPECT_EQ(stop.phase(), Phase::kServing);
}

TEST(Drain, AReadingBegunAsTheHookArrivedProvesThatThePodLives) {
  Stop stop;
  stop.at(5s).network_hook(1).living(5s);
  EXPECT_EQ(stop.answer(1), (Answered{5s, Answer::kContainerRestart}));
}

TEST(Drain, ALivingPodSeenBeforeTheHookArrivedProvesNothing) {
  Stop stop;
  stop.at(5s).network_hook(1).at(6s).living(4s);
  EXPECT_EQ(stop.answer(1), nullopt);
  EXPECT_EQ(stop.count<AskPod>(), 2U) << "it has to be read anew";
}

TEST(Drain, ALivingPodAnswersOnlyTheHooksThatItsReadingCameAfter) {
  Stop stop;
  stop.network_hook(1).at(2s).network_hook(2).at(3s).living(1s);
  EXPECT_EQ(stop.answer(1), (Answered{3s, Answer::kContainerRestart}));
  EXPECT_EQ(stop.answer(2), nullopt);
  EXPECT_EQ(stop.count<AskPod>(), 3U);
  stop.at(4s).living(3s);
  EXPECT_EQ(stop.answer(2), (Answered{4s, Answer::kContainerRestart}));
  EXPECT_EQ(stop.count<AskPod>(), 3U);
}

TEST(Drain, ALivingPodThatNobodyAskedForChangesNothing) {
  Stop stop;
  stop.living();
  EXPECT_EQ(stop.phase(), Phase::kServing);
  EXPECT_EQ(stop.count<AskPod>(), 0U);
}

TEST(Drain, ATrustedHookStartsAnUnverifiedHoldWhenItsPatienceEnds) {
  Stop stop;
  stop.known("a").tell(GraceLearnt{60s}).local_hook(1).at(999ms);
  EXPECT_EQ(stop.phase(), Phase::kServing);
  stop.at(1s);
  EXPECT_EQ(stop.phase(), Phase::kHolding);
  EXPECT_EQ(stop.outcome().trigger, Trigger::kUnverified);
  EXPECT_EQ(stop.count<BeginObserving>(), 1U);
}

TEST(Drain, AnUnverifiedHoldIsBoundedByTheBlindTime) {
  Stop stop;
  stop.known("a").tell(GraceLearnt{60s}).local_hook(1).at(1s).routable("a").at(2h);
  EXPECT_EQ(stop.drain_began(), After(25s));
  EXPECT_EQ(stop.outcome().hold_end, HoldEnd::kUnproven);
  EXPECT_EQ(stop.answer(1), (Answered{25s, Answer::kReleased}));
  EXPECT_TRUE(stop.may_be_followed());
}

TEST(Drain, AnUnverifiedHoldEndsEarlyOnEvidence) {
  Stop stop;
  stop.known("a").tell(GraceLearnt{60s}).local_hook(1).at(1s).withdrawn("a").at(2h);
  EXPECT_EQ(stop.drain_began(), After(4s));
  EXPECT_EQ(stop.outcome().hold_end, HoldEnd::kAllGone);
}

TEST(Drain, LaterProofLiftsTheBoundOfAnUnverifiedHold) {
  Stop stop;
  stop.known("a").tell(GraceLearnt{60s}).local_hook(1).at(1s).routable("a");
  EXPECT_EQ(stop.limit(), After(25s));
  EXPECT_FALSE(stop.outcome().deadline_proven);
  stop.at(20s).deadline_seen(60s, 60s);
  EXPECT_EQ(stop.limit(), After(50s));
  EXPECT_TRUE(stop.outcome().deadline_proven);
  stop.at(2h);
  EXPECT_EQ(stop.outcome().hold_end, HoldEnd::kDeadline);
  EXPECT_FALSE(stop.may_be_followed());
}

TEST(Drain, ALivingPodEndsAnUnverifiedHoldWithoutDrainingItsProxy) {
  Stop stop(with_proxy());
  stop.known("a").tell(GraceLearnt{60s}).local_hook(1).at(1s).routable("a").at(9s).living(8s);
  EXPECT_EQ(stop.phase(), Phase::kReleased);
  EXPECT_EQ(stop.outcome().hold_end, HoldEnd::kPodLives);
  EXPECT_EQ(stop.outcome().drain_end, DrainEnd::kNotBegun);
  EXPECT_EQ(stop.drain_began(), nullopt);
  EXPECT_EQ(stop.outcome().drain_started, nullopt);
  EXPECT_EQ(stop.count<DrainProxy>(), 0U);
  EXPECT_EQ(stop.count<EndObserving>(), 1U);
  EXPECT_EQ(stop.answer(1), (Answered{9s, Answer::kContainerRestart}));
  EXPECT_TRUE(stop.may_be_followed());
}

TEST(Drain, ALivingPodSeenBeforeTheHookDoesNotEndAnUnverifiedHold) {
  Stop stop;
  stop.known("a").at(5s).local_hook(1).at(6s).routable("a").at(7s).living(4s);
  EXPECT_EQ(stop.phase(), Phase::kHolding);
}

TEST(Drain, ALivingPodDoesNotEndTheHoldOfADeletion) {
  Stop stop = holding({"a"});
  stop.at(5s).living();
  EXPECT_EQ(stop.phase(), Phase::kHolding);
  EXPECT_EQ(stop.answer(1), nullopt);
}

TEST(Drain, ALivingPodDoesNotEndTheHoldOfAnEviction) {
  Stop stop;
  stop.known("a").network_hook(1).evicted().at(5s).living();
  EXPECT_EQ(stop.phase(), Phase::kHolding);
}

TEST(Drain, ALivingPodDoesNotUndoADrain) {
  Stop stop(with_proxy());
  stop.known("a").tell(GraceLearnt{60s}).local_hook(1).at(1s).withdrawn("a").at(4s);
  ASSERT_EQ(stop.phase(), Phase::kDraining);
  stop.at(5s).living();
  EXPECT_EQ(stop.phase(), Phase::kDraining);
}

// ---- Hooks ----------------------------------------------------------------------------------

TEST(Drain, AnswersEveryHookAtTheRelease) {
  Stop stop = holding({"a"});
  stop.at(1s).network_hook(2).local_hook(3).withdrawn("a").at(60s);
  EXPECT_EQ(stop.answer(1), (Answered{4s, Answer::kReleased}));
  EXPECT_EQ(stop.answer(2), (Answered{4s, Answer::kReleased}));
  EXPECT_EQ(stop.answer(3), (Answered{4s, Answer::kReleased}));
  EXPECT_EQ(stop.outcome().hooks_waiting, 0U);
}

TEST(Drain, AHookThatLeavesIsNotAnswered) {
  Stop stop = holding({"a"});
  stop.at(1s).network_hook(2).at(2s).tell(HookLeft{1}).withdrawn("a").at(60s);
  EXPECT_EQ(stop.answer(1), nullopt);
  EXPECT_EQ(stop.answer(2), (Answered{5s, Answer::kReleased}));
}

TEST(Drain, AHoldGoesOnWhenItsHookLeaves) {
  Stop stop = holding({"a"});
  stop.at(1s).tell(HookLeft{1}).at(30s);
  EXPECT_EQ(stop.phase(), Phase::kHolding);
}

TEST(Drain, AHookThatLeavesBeforeItsPatienceEndsStartsNoHold) {
  Stop stop;
  stop.known("a").local_hook(1).at(500ms).tell(HookLeft{1});
  EXPECT_EQ(stop.next_wakeup(), nullopt);
  stop.at(2h);
  EXPECT_EQ(stop.phase(), Phase::kServing);
}

TEST(Drain, AnUnknownHookMayLeave) {
  Stop stop = holding({"a"});
  stop.tell(HookLeft{99});
  EXPECT_EQ(stop.outcome().hooks_waiting, 1U);
}

// A kubelet that calls again may have been given another deadline.
TEST(Drain, AHookThatArrivesWhileHoldingHasThePodReadAgain) {
  Stop stop = holding({"a"});
  const std::size_t before = stop.count<AskPod>();
  stop.at(1s).network_hook(2);
  EXPECT_EQ(stop.count<AskPod>(), before + 1);
}

TEST(Drain, AHookThatArrivesWhileDrainingIsAnsweredAtTheRelease) {
  Stop stop = draining();
  stop.network_hook(2).at(12s).connections(0);
  EXPECT_EQ(stop.answer(2), (Answered{12s, Answer::kReleased}));
}

TEST(Drain, AHookThatArrivesAfterTheReleaseIsAnsweredAtOnce) {
  Stop stop = holding({"a"});
  stop.withdrawn("a").at(4s).network_hook(2);
  EXPECT_EQ(stop.answer(2), (Answered{4s, Answer::kReleased}));
  EXPECT_EQ(stop.outcome().hooks_waiting, 0U);
}

TEST(Drain, ReleasesWithoutAnyHook) {
  Stop stop;
  stop.known("a").deleted(60s).withdrawn("a").at(60s);
  EXPECT_EQ(stop.released(), After(3s));
}

TEST(Drain, ATrustedHookBringsAWaitingNetworkHookIntoTheHold) {
  Stop stop;
  stop.known("a").tell(GraceLearnt{60s}).network_hook(1).local_hook(2);
  stop.at(1s).withdrawn("a").at(2h);
  EXPECT_EQ(stop.answer(1), (Answered{4s, Answer::kReleased}));
  EXPECT_EQ(stop.answer(2), (Answered{4s, Answer::kReleased}));
}

// ---- When a consumer is gone ------------------------------------------------------------------

TEST(Drain, HoldsUntilTheLastConsumerIsGone) {
  Stop stop = holding({"a", "b"});
  stop.at(1s).withdrawn("a").at(9s).withdrawn("b").at(11999ms);
  EXPECT_EQ(stop.phase(), Phase::kHolding);
  stop.at(12s);
  EXPECT_EQ(stop.released(), After(12s));
  EXPECT_EQ(stop.outcome().hold_end, HoldEnd::kAllGone);
  EXPECT_EQ(stop.still_there(), Names{});
  EXPECT_EQ(stop.gone("a"), After(4s));
  EXPECT_EQ(stop.gone("b"), After(12s));
}

TEST(Drain, ARoutableConsumerHoldsToTheLimitAndIsNamed) {
  Stop stop = holding({"a", "b"});
  stop.withdrawn("a").at(60s);
  EXPECT_EQ(stop.drain_began(), After(50s));
  EXPECT_EQ(stop.outcome().hold_end, HoldEnd::kDeadline);
  EXPECT_EQ(stop.still_there(), Names{"b"});
}

TEST(Drain, EachConsumerHasItsOwnSettle) {
  Stop stop;
  stop.known("fast", settle(1s)).known("slow", settle(20s)).deleted(60s);
  stop.withdrawn("fast").withdrawn("slow").at(60s);
  EXPECT_EQ(stop.gone("fast"), After(1s));
  EXPECT_EQ(stop.gone("slow"), After(20s));
  EXPECT_EQ(stop.consumer("slow").gone_by, GoneBy::kSettle);
  EXPECT_EQ(stop.count<ConsumerGone>(), 2U);
}

TEST(Drain, WithoutASettleAWithdrawalEndsTheHoldAtOnce) {
  Stop stop;
  stop.known("a", settle(0s)).network_hook(1).deleted(60s).routable("a").at(2s).withdrawn("a");
  EXPECT_EQ(stop.answer(1), (Answered{2s, Answer::kReleased}));
}

TEST(Drain, SeeingAWithdrawalAgainDoesNotRestartItsSettle) {
  Stop stop = holding({"a"});
  stop.at(1s).withdrawn("a").at(3s).withdrawn("a").at(60s);
  EXPECT_EQ(stop.released(), After(4s));
}

TEST(Drain, TheSettleStartsAnewWhenAConsumerComesBack) {
  Stop stop = holding({"a"});
  stop.at(1s).withdrawn("a").at(3s).routable("a");
  EXPECT_EQ(stop.count<ConsumerReturned>(), 1U);
  EXPECT_EQ(stop.consumer("a").withdrawn_at, nullopt);
  stop.at(10s).withdrawn("a").at(60s);
  EXPECT_EQ(stop.released(), After(13s));
}

TEST(Drain, AConsumerThatWasGoneCanComeBack) {
  Stop stop = holding({"a", "b"});
  stop.withdrawn("a").at(5s);
  ASSERT_EQ(stop.gone("a"), After(3s));
  stop.routable("a").withdrawn("b").at(20s);
  EXPECT_EQ(stop.phase(), Phase::kHolding);
  EXPECT_EQ(stop.gone("a"), nullopt);
  EXPECT_EQ(stop.consumer("a").gone_by, nullopt);
  EXPECT_EQ(stop.count<ConsumerReturned>(), 1U);
  stop.withdrawn("a").at(60s);
  EXPECT_EQ(stop.released(), After(23s));
}

TEST(Drain, AConsumerThatNeverLeftDoesNotComeBack) {
  Stop stop = holding({"a"});
  stop.at(1s).routable("a").at(2s).last_resort("a").at(3s).routable("a");
  EXPECT_EQ(stop.count<ConsumerReturned>(), 0U);
}

TEST(Drain, ABlindConsumerIsGoneAfterItsBlindTimeInTheHold) {
  Stop stop;
  stop.known("a").at(100s).deleted(60s).at(124s);
  EXPECT_EQ(stop.phase(), Phase::kHolding);
  stop.at(200s);
  EXPECT_EQ(stop.released(), After(125s));
  EXPECT_EQ(stop.outcome().hold_end, HoldEnd::kAllGone);
  EXPECT_EQ(stop.consumer("a").gone_by, GoneBy::kBlind);
}

TEST(Drain, EachConsumerHasItsOwnBlindTime) {
  Stop stop;
  stop.known("a", blind(5s)).known("b", blind(30s)).deleted(60s).at(60s);
  EXPECT_EQ(stop.gone("a"), After(5s));
  EXPECT_EQ(stop.gone("b"), After(30s));
}

TEST(Drain, SeeingNothingAgainDoesNotRestartTheBlindTime) {
  Stop stop;
  stop.known("a").deleted(60s).blind("a").at(10s).blind("a").at(20s).blind("a").at(60s);
  EXPECT_EQ(stop.gone("a"), After(25s));
}

// A refinement of the design: whoever was routable a moment ago is not gone because the hold
// is old.
TEST(Drain, TheBlindTimeCountsFromTheLastSight) {
  Stop stop = holding({"a"});
  stop.at(20s).blind("a").at(44s);
  EXPECT_EQ(stop.phase(), Phase::kHolding);
  stop.at(60s);
  EXPECT_EQ(stop.gone("a"), After(45s));
  EXPECT_EQ(stop.consumer("a").gone_by, GoneBy::kBlind);
}

TEST(Drain, ARegainedSightEndsTheBlindTime) {
  Stop stop;
  stop.known("a").deleted(60s).at(24s).routable("a").at(49s);
  EXPECT_EQ(stop.phase(), Phase::kHolding);
}

TEST(Drain, LosingSightKeepsAWithdrawal) {
  Stop stop = holding({"a"});
  stop.at(1s).withdrawn("a").at(2s).blind("a").at(60s);
  EXPECT_EQ(stop.released(), After(4s));
  EXPECT_EQ(stop.consumer("a").gone_by, GoneBy::kSettle);
  EXPECT_EQ(stop.consumer("a").presence, Presence::kBlind);
}

TEST(Drain, LosingSightDoesNotShortenASettle) {
  Stop stop;
  stop.known("nlb", settle(40s)).deleted(60s).at(1s).withdrawn("nlb").at(2s).blind("nlb").at(60s);
  EXPECT_EQ(stop.gone("nlb"), After(41s));
}

TEST(Drain, AWithdrawalSeenAgainAfterBlindnessCountsFromItsFirstSight) {
  Stop stop = holding({"a"});
  stop.at(1s).withdrawn("a").at(2s).blind("a").at(3s).withdrawn("a").at(60s);
  EXPECT_EQ(stop.released(), After(4s));
}

TEST(Drain, AConsumerThatIsRoutableAfterBlindnessHasComeBack) {
  Stop stop = holding({"a"});
  stop.at(1s).withdrawn("a").at(2s).blind("a").at(3s).routable("a").at(30s);
  EXPECT_EQ(stop.phase(), Phase::kHolding);
  EXPECT_EQ(stop.count<ConsumerReturned>(), 1U);
}

TEST(Drain, AConsumerGoneUnseenStillSettlesWhenItsWithdrawalIsSeen) {
  Stop stop = holding({"b"});
  stop.known("a", blind(5s)).at(10s);
  ASSERT_EQ(stop.gone("a"), After(5s));
  stop.withdrawn("a").withdrawn("b");
  EXPECT_EQ(stop.gone("a"), nullopt);
  stop.at(60s);
  EXPECT_EQ(stop.gone("a"), After(13s));
  EXPECT_EQ(stop.consumer("a").gone_by, GoneBy::kSettle);
}

TEST(Drain, AConsumerGoneUnseenComesBackWhenItIsSeenRoutable) {
  Stop stop = holding({"b"});
  stop.known("a", blind(5s)).at(10s).routable("a").withdrawn("b").at(30s);
  EXPECT_EQ(stop.phase(), Phase::kHolding);
  EXPECT_EQ(stop.count<ConsumerReturned>(), 1U);
}

TEST(Drain, WaitsWhileItIsTheLastResort) {
  Stop stop = holding({"a"});
  stop.at(1s).last_resort("a").at(60s);
  EXPECT_EQ(stop.drain_began(), After(50s));
  EXPECT_EQ(stop.still_there(), Names{"a"});
}

TEST(Drain, SettlesOnceAnotherEndpointHasTakenOver) {
  Stop stop = holding({"a"});
  stop.at(1s).last_resort("a").at(20s).withdrawn("a").at(60s);
  EXPECT_EQ(stop.released(), After(23s));
}

TEST(Drain, AWithdrawnConsumerThatFallsBackToTheLastResortHasComeBack) {
  Stop stop = holding({"a"});
  stop.at(1s).withdrawn("a").at(2s).last_resort("a").at(30s);
  EXPECT_EQ(stop.phase(), Phase::kHolding);
  EXPECT_EQ(stop.count<ConsumerReturned>(), 1U);
}

TEST(Drain, TheLastResortCountsAsWithdrawnWhereItIsIgnored) {
  Stop stop;
  stop.known("a", ignoring_last_endpoint()).deleted(60s).routable("a");
  stop.at(1s).last_resort("a").at(2s).withdrawn("a").at(60s);
  EXPECT_EQ(stop.released(), After(4s));
  EXPECT_EQ(stop.consumer("a").presence, Presence::kWithdrawn);
}

TEST(Drain, WhatWasSeenBeforeTheHoldIsNoEvidence) {
  Stop stop;
  stop.known("a").withdrawn("a").at(100s).deleted(60s);
  EXPECT_EQ(stop.consumer("a").presence, Presence::kBlind);
  EXPECT_EQ(stop.consumer("a").withdrawn_at, nullopt);
  EXPECT_EQ(stop.count<PresenceChanged>(), 0U);
}

TEST(Drain, WhatIsSeenOfAnUnknownConsumerIsIgnored) {
  Stop stop = holding({"a"});
  stop.routable("stranger").withdrawn("a").at(60s);
  EXPECT_EQ(stop.released(), After(3s));
  EXPECT_EQ(stop.outcome().consumers.size(), 1U);
}

TEST(Drain, TellsAChangeOfPresenceOnceAndKeepsTheLatestDetail) {
  Stop stop = holding({"a"});
  stop.at(1s).seen("a", Presence::kWithdrawn, "ready=false");
  stop.at(2s).seen("a", Presence::kWithdrawn, "absent");
  const auto changes = stop.all<PresenceChanged>();
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_EQ(changes[0].from, Presence::kBlind);
  EXPECT_EQ(changes[0].to, Presence::kRoutable);
  EXPECT_EQ(changes[1].id, Stop::id("a"));
  EXPECT_EQ(changes[1].from, Presence::kRoutable);
  EXPECT_EQ(changes[1].to, Presence::kWithdrawn);
  EXPECT_EQ(changes[1].detail, "ready=false");
  EXPECT_EQ(stop.consumer("a").detail, "absent");
}

// ---- Consumers that come, go and change -----------------------------------------------------

TEST(Drain, WithoutAnyConsumerThereIsNothingToHoldFor) {
  Stop stop = holding({});
  EXPECT_EQ(stop.answer(1), (Answered{0s, Answer::kReleased}));
  EXPECT_EQ(stop.outcome().hold_end, HoldEnd::kAllGone);
}

TEST(Drain, WithoutAnyConsumerTheLeastHoldStillCounts) {
  Stop stop = holding({}, policy([](Policy& p) { p.thresholds.hold_min.value = 7s; }));
  stop.at(60s);
  EXPECT_EQ(stop.answer(1), (Answered{7s, Answer::kReleased}));
}

TEST(Drain, WithoutAnyObservationItSleepsTheBlindTime) {
  Stop stop;
  stop.known("a").known("b").network_hook(1).deleted(60s).at(60s);
  EXPECT_EQ(stop.answer(1), (Answered{25s, Answer::kReleased}));
}

TEST(Drain, AConsumerLearntWhileHoldingIsWaitedFor) {
  Stop stop = holding({"a"});
  stop.at(2s).known("b").routable("b").withdrawn("a").at(30s);
  EXPECT_EQ(stop.phase(), Phase::kHolding);
  stop.withdrawn("b").at(60s);
  EXPECT_EQ(stop.released(), After(33s));
}

TEST(Drain, AConsumerLearntWhileHoldingIsBlindFromThenOn) {
  Stop stop = holding({"a"});
  stop.withdrawn("a").at(2s).known("b").at(60s);
  EXPECT_EQ(stop.gone("b"), After(27s));
}

TEST(Drain, ADroppedConsumerIsNotWaitedFor) {
  Stop stop = holding({"a", "b"});
  stop.withdrawn("a").at(10s).dropped("b");
  EXPECT_EQ(stop.released(), After(10s));
  EXPECT_EQ(stop.outcome().consumers.size(), 1U);
  EXPECT_EQ(stop.still_there(), Names{});
}

TEST(Drain, AnUnknownConsumerMayBeDropped) {
  Stop stop = holding({"a"});
  stop.dropped("stranger");
  EXPECT_EQ(stop.phase(), Phase::kHolding);
}

TEST(Drain, AConsumerMayBeLearntAnewWithoutLosingItsWithdrawal) {
  Stop stop = holding({"a"});
  stop.at(1s).withdrawn("a").at(2s).known("a").at(60s);
  EXPECT_EQ(stop.released(), After(4s));
}

TEST(Drain, AShorterSettleCountsFromTheSameWithdrawal) {
  Stop stop;
  stop.known("a", settle(40s)).deleted(60s).at(1s).withdrawn("a").at(6s);
  stop.known("a", settle(10s)).at(60s);
  EXPECT_EQ(stop.released(), After(11s));
}

TEST(Drain, ASettleShortenedBelowWhatHasPassedIsOver) {
  Stop stop;
  stop.known("a", settle(40s)).deleted(60s).withdrawn("a").at(6s).known("a", settle(2s));
  EXPECT_EQ(stop.released(), After(6s));
}

TEST(Drain, ALongerSettleCountsFromTheSameWithdrawal) {
  Stop stop = holding({"a"});
  stop.at(1s).withdrawn("a").at(2s).known("a", settle(10s)).at(60s);
  EXPECT_EQ(stop.released(), After(11s));
}

TEST(Drain, ALongerSettleDoesNotBringBackWhoIsGone) {
  Stop stop = holding({"a", "b"});
  stop.withdrawn("a").at(5s).known("a", settle(30s)).withdrawn("b").at(60s);
  EXPECT_EQ(stop.released(), After(8s));
}

TEST(Drain, AShorterBlindTimeTakesEffectWhileHolding) {
  Stop stop;
  stop.known("a").deleted(60s).at(3s).known("a", blind(10s)).at(60s);
  EXPECT_EQ(stop.gone("a"), After(10s));
}

TEST(Drain, TheOutcomeSaysWhereEachThresholdCameFrom) {
  Thresholds thresholds;
  thresholds.settle = {9s, Source::kServiceAnnotation};
  thresholds.blind = {8s, Source::kConfigFile};
  Stop stop;
  stop.known("a", thresholds);
  const Thresholds kept = stop.consumer("a").thresholds;
  EXPECT_EQ(After(kept.settle.value), After(9s));
  EXPECT_EQ(kept.settle.source, Source::kServiceAnnotation);
  EXPECT_EQ(kept.blind.source, Source::kConfigFile);
  EXPECT_EQ(kept.last_endpoint.source, Source::kDefault);
}

// ---- hold.min and quiet -----------------------------------------------------------------------

TEST(Drain, HoldsAtLeastForTheLeastHold) {
  Stop stop = holding({"a"}, policy([](Policy& p) { p.thresholds.hold_min.value = 12s; }));
  stop.withdrawn("a").at(11s);
  EXPECT_EQ(stop.phase(), Phase::kHolding);
  stop.at(60s);
  EXPECT_EQ(stop.released(), After(12s));
  EXPECT_EQ(stop.outcome().hold_end, HoldEnd::kAllGone);
}

TEST(Drain, TheLeastHoldDoesNotLengthenALongerOne) {
  Stop stop = holding({"a"}, policy([](Policy& p) { p.thresholds.hold_min.value = 12s; }));
  stop.at(20s).withdrawn("a").at(60s);
  EXPECT_EQ(stop.released(), After(23s));
}

TEST(Drain, TheLeastHoldDoesNotOutlastTheLimit) {
  Stop stop = holding({"a"}, policy([](Policy& p) { p.thresholds.hold_min.value = 70s; }));
  stop.withdrawn("a").at(60s);
  EXPECT_EQ(stop.drain_began(), After(50s));
  EXPECT_EQ(stop.outcome().hold_end, HoldEnd::kDeadline);
  EXPECT_EQ(stop.still_there(), Names{});
}

TEST(Drain, WithoutATrafficObserverThereIsNothingToBeQuiet) {
  Stop stop = holding({"a"}, policy([](Policy& p) { p.thresholds.quiet.value = 20s; }));
  stop.withdrawn("a").at(60s);
  EXPECT_EQ(stop.released(), After(3s));
}

TEST(Drain, HoldsUntilTheTrafficIsQuiet) {
  Stop stop = holding({"a"});
  stop.withdrawn("a").at(2800ms).traffic(1).at(3300ms).traffic(0).at(3799ms).traffic(0);
  EXPECT_EQ(stop.gone("a"), After(3s));
  EXPECT_EQ(stop.phase(), Phase::kHolding);
  stop.at(3800ms).traffic(0);
  EXPECT_EQ(stop.released(), After(3800ms));
}

TEST(Drain, InboundBytesAreNotQuiet) {
  Stop stop = holding({"a"});
  stop.withdrawn("a").at(2s).traffic(0).at(4s).traffic(0, true).at(4900ms).traffic(0);
  EXPECT_EQ(stop.phase(), Phase::kHolding);
  stop.at(5s).traffic(0);
  EXPECT_EQ(stop.released(), After(5s));
}

TEST(Drain, OnlyAReportCanSayThatItIsQuiet) {
  Stop stop = holding({"a"});
  stop.at(1s).traffic(1).withdrawn("a").at(20s);
  EXPECT_EQ(stop.phase(), Phase::kHolding);
  stop.traffic(0);
  EXPECT_EQ(stop.released(), After(20s));
}

TEST(Drain, AnObserverThatReportsNoMoreIsNotWaitedForBeyondBlind) {
  Stop stop = holding({"a"});
  stop.at(1s).traffic(1).withdrawn("a").at(60s);
  EXPECT_EQ(stop.released(), After(1s + 25s));
}

TEST(Drain, TheQuietTimeIsConfigurable) {
  Stop stop = holding({"a"}, policy([](Policy& p) { p.thresholds.quiet.value = 5s; }));
  stop.withdrawn("a").at(2s).traffic(1).at(6900ms).traffic(0);
  EXPECT_EQ(stop.phase(), Phase::kHolding);
  stop.at(7s).traffic(0);
  EXPECT_EQ(stop.released(), After(7s));
}

TEST(Drain, QuietCanBeSwitchedOff) {
  Stop stop = holding({"a"}, policy([](Policy& p) { p.thresholds.quiet.value = 0s; }));
  stop.withdrawn("a").at(3s - 1ns).traffic(5, true).at(60s);
  EXPECT_EQ(stop.released(), After(3s));
}

TEST(Drain, UnendingTrafficHoldsToTheLimitWithNobodyStillThere) {
  Stop stop = holding({"a"}, policy([](Policy& p) { p.silence.value = false; }));
  stop.withdrawn("a");
  for (Duration t = 500ms; t < 55s; t += 500ms) stop.at(t).traffic(1);
  EXPECT_EQ(stop.drain_began(), After(50s));
  EXPECT_EQ(stop.outcome().hold_end, HoldEnd::kDeadline);
  EXPECT_EQ(stop.still_there(), Names{});
}

// ---- Conclusive silence -------------------------------------------------------------------------

// exp(-r*T/16) < 1e-6 from T = 16 * ln(1e6) / r on: 2.2105 s at 100 arrivals per second.
TEST(Drain, ConclusiveSilenceCutsTheSettleShort) {
  Stop stop;
  stop.known("alb", settle(30s)).deleted(60s).at(1s).traffic(100).withdrawn("alb");
  stop.at(3210ms).traffic(0);
  EXPECT_EQ(stop.gone("alb"), nullopt);
  stop.at(3211ms).traffic(0);
  EXPECT_EQ(stop.gone("alb"), After(3211ms));
  EXPECT_EQ(stop.consumer("alb").gone_by, GoneBy::kSilence);
  EXPECT_EQ(stop.released(), After(3211ms));
}

TEST(Drain, ALowerRateNeedsALongerSilence) {
  Stop stop;
  stop.known("alb", settle(30s)).deleted(60s).at(1s).traffic(20).withdrawn("alb");
  stop.at(12s).traffic(0);
  EXPECT_EQ(stop.phase(), Phase::kHolding) << "16 * ln(1e6) / 20 is 11.052 s";
  stop.at(12053ms).traffic(0);
  EXPECT_EQ(stop.gone("alb"), After(12053ms));
}

TEST(Drain, TheRateIsTakenOverAllReportsBeforeTheWithdrawal) {
  Stop stop;
  stop.known("alb", settle(30s)).deleted(60s);
  stop.at(1s).traffic(150).at(2s).traffic(50).withdrawn("alb");
  stop.at(4210ms).traffic(0);
  EXPECT_EQ(stop.phase(), Phase::kHolding);
  stop.at(4211ms).traffic(0);
  EXPECT_EQ(stop.gone("alb"), After(4211ms));
}

TEST(Drain, AnArrivalStartsTheSilenceAnew) {
  Stop stop;
  stop.known("alb", settle(30s)).deleted(60s).at(1s).traffic(100).withdrawn("alb");
  stop.at(2s).traffic(1).at(4210ms).traffic(0);
  EXPECT_EQ(stop.gone("alb"), nullopt);
  stop.at(4211ms).traffic(0);
  EXPECT_EQ(stop.gone("alb"), After(4211ms));
}

TEST(Drain, ArrivalsAfterTheWithdrawalDoNotRaiseItsRate) {
  Stop stop;
  stop.known("alb", settle(30s)).deleted(60s).at(1s).traffic(20).withdrawn("alb");
  stop.at(2s).traffic(100'000).at(10s).traffic(0);
  EXPECT_EQ(stop.gone("alb"), nullopt);
}

TEST(Drain, SilenceIsNotConcludedWithoutAReport) {
  Stop stop;
  stop.known("alb", settle(30s)).deleted(60s).at(1s).traffic(100).withdrawn("alb").at(30s);
  EXPECT_EQ(stop.phase(), Phase::kHolding);
  stop.at(60s);
  EXPECT_EQ(stop.consumer("alb").gone_by, GoneBy::kSettle);
}

TEST(Drain, FifteenArrivalsSayTooLittleAboutTheirRate) {
  Stop stop;
  stop.known("alb", settle(30s)).deleted(60s).at(1s).traffic(15).withdrawn("alb");
  stop.at(30s).traffic(0);
  EXPECT_EQ(stop.phase(), Phase::kHolding);
  stop.at(31s);
  EXPECT_EQ(stop.consumer("alb").gone_by, GoneBy::kSettle);
}

TEST(Drain, SixteenArrivalsAreEnoughToKnowTheirRate) {
  Stop stop;
  stop.known("alb", settle(30s)).deleted(60s).at(1s).traffic(16).withdrawn("alb");
  stop.at(14815ms).traffic(0);
  EXPECT_EQ(stop.phase(), Phase::kHolding) << "ln(1e6) is 13.8155 s";
  stop.at(14816ms).traffic(0);
  EXPECT_EQ(stop.consumer("alb").gone_by, GoneBy::kSilence);
}

TEST(Drain, APodWithoutMeasurableTrafficWaitsTheSettleOut) {
  Stop stop;
  stop.known("alb", settle(30s)).deleted(60s).at(1s).traffic(0).withdrawn("alb");
  stop.at(30s).traffic(0);
  EXPECT_EQ(stop.phase(), Phase::kHolding);
}

TEST(Drain, TrafficFirstSeenAfterTheWithdrawalHasNoRateBeforeIt) {
  Stop stop;
  stop.known("alb", settle(30s)).deleted(60s).withdrawn("alb").at(1s).traffic(100);
  stop.at(30s - 1ns).traffic(0);
  EXPECT_EQ(stop.phase(), Phase::kHolding);
}

TEST(Drain, SilenceCanBeSwitchedOff) {
  Stop stop(policy([](Policy& p) { p.silence.value = false; }));
  stop.known("alb", settle(30s)).deleted(60s).at(1s).traffic(1000).withdrawn("alb");
  stop.at(30s).traffic(0);
  EXPECT_EQ(stop.phase(), Phase::kHolding);
  stop.at(60s);
  EXPECT_EQ(stop.gone("alb"), After(31s));
}

TEST(Drain, SilenceSaysNothingAboutARoutableConsumer) {
  Stop stop;
  stop.known("alb").deleted(60s).routable("alb").at(1s).traffic(1000).at(40s).traffic(0);
  EXPECT_EQ(stop.phase(), Phase::kHolding);
}

TEST(Drain, SilenceSaysNothingAboutABlindConsumer) {
  Stop stop;
  stop.known("alb").deleted(60s).at(1s).traffic(1000).at(24s).traffic(0);
  EXPECT_EQ(stop.phase(), Phase::kHolding);
}

TEST(Drain, ASettleThatRanOutIsNotAscribedToSilence) {
  Stop stop;
  stop.known("a", settle(3s)).deleted(60s).at(1s).traffic(100).withdrawn("a").at(4s).traffic(0);
  EXPECT_EQ(stop.consumer("a").gone_by, GoneBy::kSettle);
}

TEST(Drain, AReturnForgetsTheRateAndTheNextWithdrawalTakesANewOne) {
  Stop stop;
  stop.known("alb", settle(30s)).deleted(60s).at(1s).traffic(100).withdrawn("alb");
  stop.at(2s).routable("alb").at(10s).traffic(0).withdrawn("alb");
  // 100 arrivals in 10 s: the silence has to last for 22.105 s.
  stop.at(32100ms).traffic(0);
  EXPECT_EQ(stop.phase(), Phase::kHolding);
  stop.at(32106ms).traffic(0);
  EXPECT_EQ(stop.consumer("alb").gone_by, GoneBy::kSilence);
}

TEST(Drain, QuietStillCountsAfterConclusiveSilence) {
  Stop stop;
  stop.known("alb", settle(30s)).deleted(60s).at(1s).traffic(100).withdrawn("alb");
  stop.at(3500ms).traffic(0, true);
  EXPECT_EQ(stop.consumer("alb").gone_by, GoneBy::kSilence) << "bytes are no new arrivals";
  EXPECT_EQ(stop.phase(), Phase::kHolding);
  stop.at(4500ms).traffic(0);
  EXPECT_EQ(stop.released(), After(4500ms));
}

// ---- The limits of a hold -----------------------------------------------------------------------

TEST(Drain, HoldMaxEndsTheHold) {
  Stop stop = holding({"a"}, policy([](Policy& p) { p.thresholds.hold_max.value = 20s; }));
  EXPECT_EQ(stop.limit(), After(20s));
  stop.at(60s);
  EXPECT_EQ(stop.drain_began(), After(20s));
  EXPECT_EQ(stop.outcome().hold_end, HoldEnd::kHoldMax);
  EXPECT_EQ(stop.still_there(), Names{"a"});
}

TEST(Drain, TheEarliestLimitEndsTheHold) {
  Stop stop = holding({"a"}, policy([](Policy& p) { p.thresholds.hold_max.value = 55s; }));
  stop.at(60s);
  EXPECT_EQ(stop.drain_began(), After(50s));
  EXPECT_EQ(stop.outcome().hold_end, HoldEnd::kDeadline);
}

TEST(Drain, AnUnverifiedHoldKeepsToHoldMaxToo) {
  Stop stop(policy([](Policy& p) { p.thresholds.hold_max.value = 9s; }));
  stop.known("a").tell(GraceLearnt{60s}).local_hook(1).at(1s).routable("a").at(2h);
  EXPECT_EQ(stop.drain_began(), After(9s));
  EXPECT_EQ(stop.outcome().hold_end, HoldEnd::kHoldMax);
}

TEST(Drain, HoldMaxOfOneConsumerEndsTheWaitForThatOneOnly) {
  Thresholds impatient;
  impatient.hold_max.value = 5s;
  Stop stop;
  stop.known("a", impatient).known("b").network_hook(1).deleted(60s).routable("a").routable("b");
  stop.at(9s).withdrawn("b").at(60s);
  EXPECT_EQ(stop.drain_began(), After(12s));
  EXPECT_EQ(stop.outcome().hold_end, HoldEnd::kHoldMax);
  EXPECT_EQ(stop.still_there(), Names{"a"});
}

TEST(Drain, AConsumerGoneBeforeItsHoldMaxIsJustGone) {
  Thresholds impatient;
  impatient.hold_max.value = 5s;
  Stop stop;
  stop.known("a", impatient).known("b").network_hook(1).deleted(60s).withdrawn("a").routable("b");
  stop.at(9s).withdrawn("b").at(60s);
  EXPECT_EQ(stop.outcome().hold_end, HoldEnd::kAllGone);
}

TEST(Drain, TheLongestHoldMinOfAllConsumersCounts) {
  Thresholds patient;
  patient.hold_min.value = 14s;
  Stop stop;
  stop.known("a", patient).known("b").network_hook(1).deleted(60s).withdrawn("a").withdrawn("b");
  stop.at(60s);
  EXPECT_EQ(stop.drain_began(), After(14s));
}

TEST(Drain, TheLongestReserveOfAllConsumersCounts) {
  Thresholds careful;
  careful.reserve.value = 25s;
  Stop stop;
  stop.known("a", careful).known("b").network_hook(1).deleted(60s).routable("a").routable("b");
  EXPECT_EQ(stop.limit(), After(35s));
}

TEST(Drain, TheLongestQuietOfAllConsumersCounts) {
  Thresholds careful;
  careful.quiet.value = 4s;
  Stop stop;
  stop.known("a", careful).known("b").deleted(60s).withdrawn("a").withdrawn("b");
  for (int i = 1; i <= 20; ++i) stop.at(i * 500ms).traffic(i <= 4 ? 1 : 0);
  EXPECT_EQ(stop.drain_began(), After(6s));
}

TEST(Drain, TheLongestDrainMaxOfAllConsumersCounts) {
  Thresholds brief;
  brief.settle.value = 0s;
  brief.drain_max.value = 2s;
  Thresholds patient = brief;
  patient.drain_max.value = 7s;
  Stop stop(with_proxy());
  stop.known("a", brief).known("b", patient).deleted(60s).withdrawn("a").withdrawn("b").at(60s);
  EXPECT_EQ(stop.released(), After(7s));
  EXPECT_EQ(stop.outcome().drain_end, DrainEnd::kDrainMax);
}

TEST(Drain, ThresholdsOfAPodWithoutConsumersApplyAtOnce) {
  Stop stop = holding({}, policy([](Policy& p) { p.thresholds.hold_min.value = 30s; }));
  stop.at(2s).tell(PolicyChanged{Thresholds{}});
  EXPECT_EQ(stop.drain_began(), After(2s));
}

TEST(Drain, AChangedBlindOfThePodBoundsAHoldWithoutProof) {
  Thresholds brief;
  brief.blind.value = 6s;
  Stop stop;
  stop.known("a").tell(GraceLearnt{60s}).local_hook(1).evicted().routable("a");
  stop.tell(PolicyChanged{brief}).at(60s);
  EXPECT_EQ(stop.drain_began(), After(6s));
  EXPECT_EQ(stop.outcome().hold_end, HoldEnd::kUnproven);
}

TEST(Drain, TheReserveIsTenSeconds) { EXPECT_EQ(holding({"a"}).limit(), After(50s)); }

TEST(Drain, TheReserveIsAThirdOfAShortGracePeriod) {
  Stop stop;
  stop.known("a").deleted(15s);
  EXPECT_EQ(stop.limit(), After(10s));
}

TEST(Drain, TheReserveIsConfigurable) {
  Stop stop = holding({"a"}, policy([](Policy& p) { p.thresholds.reserve.value = 25s; }));
  EXPECT_EQ(stop.limit(), After(35s));
}

TEST(Drain, TheReserveIsNeverLessThanTheMargin) {
  Stop stop = holding({"a"}, policy([](Policy& p) { p.thresholds.reserve.value = 0s; }));
  EXPECT_EQ(stop.limit(), After(59s));
  stop.at(60s);
  EXPECT_EQ(stop.released(), After(59s));
}

TEST(Drain, ReleasesAtOnceWhenTheDeadlineIsAlreadyPast) {
  Stop stop;
  stop.known("a").at(100s).network_hook(1).deadline_seen(90s, 30s);
  EXPECT_EQ(stop.answer(1), (Answered{100s, Answer::kReleased}));
  EXPECT_EQ(stop.outcome().hold_end, HoldEnd::kDeadline);
  EXPECT_EQ(stop.outcome().drain_end, DrainEnd::kNoProxy);
  EXPECT_EQ(stop.still_there(), Names{"a"});
}

TEST(Drain, AGracePeriodOfNothingIsNotHeld) {
  Stop stop;
  stop.known("a").network_hook(1).deleted(0s);
  EXPECT_EQ(stop.answer(1), (Answered{0s, Answer::kReleased}));
}

TEST(Drain, AnOperatorForcesTheReleaseOfAHold) {
  Stop stop = holding({"a"}, with_proxy());
  stop.at(8s).tell(ReleaseOrdered{});
  EXPECT_EQ(stop.answer(1), (Answered{8s, Answer::kReleased}));
  EXPECT_EQ(stop.outcome().hold_end, HoldEnd::kForced);
  EXPECT_EQ(stop.outcome().drain_end, DrainEnd::kForced);
  EXPECT_EQ(stop.still_there(), Names{"a"});
}

TEST(Drain, AnOperatorForcesTheReleaseOfADrain) {
  Stop stop = draining();
  stop.at(11s).tell(ReleaseOrdered{});
  EXPECT_EQ(stop.released(), After(11s));
  EXPECT_EQ(stop.outcome().hold_end, HoldEnd::kAllGone);
  EXPECT_EQ(stop.outcome().drain_end, DrainEnd::kForced);
}

TEST(Drain, AnOperatorReleasesTheHooksOfAServingPodWithoutStoppingIt) {
  Stop stop;
  stop.network_hook(1).local_hook(2).at(100ms).tell(ReleaseOrdered{}).at(2h);
  EXPECT_EQ(stop.answer(1), (Answered{100ms, Answer::kReleased}));
  EXPECT_EQ(stop.answer(2), (Answered{100ms, Answer::kReleased}));
  EXPECT_EQ(stop.phase(), Phase::kServing);
}

// ---- The deadline -------------------------------------------------------------------------------

TEST(Drain, TheDeadlineIsThatOfTheDeletion) {
  Stop stop;
  stop.known("a").at(4s).network_hook(1).deadline_seen(33s, 30s);
  EXPECT_EQ(stop.deadline(), After(33s));
  EXPECT_TRUE(stop.outcome().deadline_proven);
  EXPECT_EQ(stop.limit(), After(23s));
}

TEST(Drain, TheDeadlineMayMoveEarlier) {
  Stop stop = holding({"a"});
  stop.at(5s).deadline_seen(30s, 30s);
  EXPECT_EQ(stop.deadline(), After(30s));
  stop.at(60s);
  EXPECT_EQ(stop.drain_began(), After(20s));
}

TEST(Drain, TheDeadlineNeverMovesLater) {
  Stop stop = holding({"a"});
  stop.at(5s).deadline_seen(90s, 90s);
  EXPECT_EQ(stop.deadline(), After(60s));
  stop.at(6s).tell(GraceLearnt{300s});
  EXPECT_EQ(stop.deadline(), After(60s));
}

TEST(Drain, ALaterDeadlineInALaterReadingIsNotBelieved) {
  Stop stop;
  stop.known("a").tell(GraceLearnt{60s}).deadline_seen(30s).at(5s).deadline_seen(50s);
  EXPECT_EQ(stop.deadline(), After(30s));
}

TEST(Drain, ADeadlineOnceSeenIsKept) {
  Stop stop;
  stop.known("a").tell(GraceLearnt{60s}).deadline_seen(30s).at(5s);
  stop.tell(PodSeen{PodState::kDeleted, Instant{}, nullopt, nullopt});
  EXPECT_EQ(stop.deadline(), After(30s));
}

TEST(Drain, ADeadlineThatMovedBelowTheReserveEndsTheHoldAtOnce) {
  Stop stop = holding({"a"});
  stop.at(30s).deadline_seen(35s, 35s);
  EXPECT_EQ(stop.drain_began(), After(30s));
  EXPECT_EQ(stop.outcome().hold_end, HoldEnd::kDeadline);
}

TEST(Drain, ADeadlineThatMovesEarlierEndsTheDrainEarlier) {
  Stop stop = draining();
  stop.deadline_seen(20s, 20s).connections(7).at(60s);
  EXPECT_EQ(stop.released(), After(19s));
  EXPECT_EQ(stop.outcome().drain_end, DrainEnd::kDeadline);
}

// Our view of the API server's clock may be wrong; the grace period since the first sign is not.
TEST(Drain, ADeadlineBeyondTheGracePeriodSinceTheFirstSignIsNotTrusted) {
  Stop stop;
  stop.known("a").local_hook(1).at(1s).deadline_seen(100s, 30s);
  EXPECT_EQ(stop.deadline(), After(30s));
}

TEST(Drain, AnUnknownDeadlineIsTheGracePeriodLearntAtStart) {
  Stop stop;
  stop.known("a").tell(GraceLearnt{24s}).at(100s).tell(DrainOrdered{});
  EXPECT_EQ(stop.deadline(), After(124s));
  EXPECT_FALSE(stop.outcome().deadline_proven);
  EXPECT_EQ(stop.limit(), After(116s));
}

TEST(Drain, AnUnknownDeadlineCountsFromTheFirstHook) {
  Stop stop;
  stop.known("a").tell(GraceLearnt{24s}).local_hook(1).at(1s);
  ASSERT_EQ(stop.hold_began(), After(1s));
  EXPECT_EQ(stop.deadline(), After(24s));
}

TEST(Drain, WithoutAnyKnownGracePeriodItHoldsForTheBlindTimeAndKeepsAReserveAfterIt) {
  Stop stop(policy([](Policy& p) { p.thresholds.blind.value = 15s; }));
  stop.known("a").tell(DrainOrdered{});
  EXPECT_EQ(stop.limit(), After(15s));
  EXPECT_EQ(stop.deadline(), After(20s));
}

TEST(Drain, TheGracePeriodOfTheDeletionReplacesTheOneLearntAtStart) {
  Stop stop;
  stop.known("a").tell(GraceLearnt{30s}).deleted(120s);
  EXPECT_EQ(stop.deadline(), After(120s));
  EXPECT_EQ(stop.limit(), After(110s));
}

TEST(Drain, ADeletionWithoutADeadlineCountsItsGracePeriodFromTheFirstSign) {
  Stop stop;
  stop.known("a").local_hook(1).at(500ms);
  stop.tell(PodSeen{PodState::kDeleted, Instant{}, nullopt, 45s});
  EXPECT_EQ(stop.deadline(), After(45s));
  EXPECT_FALSE(stop.outcome().deadline_proven);
}

TEST(Drain, ALongerGracePeriodInALaterReadingIsNotBelieved) {
  Stop stop;
  stop.known("a").tell(PodSeen{PodState::kDeleted, Instant{}, nullopt, 40s});
  stop.tell(PodSeen{PodState::kDeleted, Instant{}, nullopt, 90s});
  EXPECT_EQ(stop.deadline(), After(40s));
}

// ---- The drain ----------------------------------------------------------------------------------

TEST(Drain, WithoutAProxyTheHoldsEndIsTheRelease) {
  Stop stop = holding({"a"});
  stop.withdrawn("a").at(60s);
  EXPECT_EQ(stop.drain_began(), After(3s));
  EXPECT_EQ(stop.released(), After(3s));
  EXPECT_EQ(stop.outcome().drain_end, DrainEnd::kNoProxy);
  EXPECT_EQ(stop.count<DrainProxy>(), 0U);
}

TEST(Drain, WithoutAProxyTheLeastDrainStillCounts) {
  Stop stop = holding({"a"}, policy([](Policy& p) { p.drain_min.value = 4s; }));
  stop.withdrawn("a").at(60s);
  EXPECT_EQ(stop.drain_began(), After(3s));
  EXPECT_EQ(stop.released(), After(7s));
  EXPECT_EQ(stop.outcome().drain_end, DrainEnd::kNoProxy);
}

TEST(Drain, TellsTheProxyToDrainOnceTheHoldHasEnded) {
  Stop stop = holding({"a"}, with_proxy());
  EXPECT_EQ(stop.count<DrainProxy>(), 0U);
  stop.withdrawn("a").at(3s);
  EXPECT_EQ(stop.phase(), Phase::kDraining);
  EXPECT_EQ(stop.count<DrainProxy>(), 1U);
  EXPECT_EQ(stop.count<EndObserving>(), 1U);
  EXPECT_EQ(stop.answer(1), nullopt);
}

TEST(Drain, DrainsUntilTheProxyHasNoConnections) {
  Stop stop = draining();
  stop.connections(12).at(15s).connections(1).at(20s).connections(0);
  EXPECT_EQ(stop.answer(1), (Answered{20s, Answer::kReleased}));
  EXPECT_EQ(stop.outcome().drain_end, DrainEnd::kDrained);
}

TEST(Drain, AProxyThatCannotBeAskedIsNotDrained) {
  Stop stop = draining();
  for (Duration t = 11s; t < 60s; t += 1s) stop.at(t).connections(nullopt);
  EXPECT_EQ(stop.released(), After(59s));
  EXPECT_EQ(stop.outcome().drain_end, DrainEnd::kDeadline);
}

TEST(Drain, AProxyThatNeverAnswersDrainsToTheDeadline) {
  Stop stop = draining();
  stop.at(60s);
  EXPECT_EQ(stop.released(), After(59s));
  EXPECT_EQ(stop.outcome().drain_end, DrainEnd::kDeadline);
}

TEST(Drain, AProxyThatAnswersAgainEndsTheDrain) {
  Stop stop = draining();
  stop.connections(nullopt).at(30s).connections(nullopt).at(31s).connections(0);
  EXPECT_EQ(stop.released(), After(31s));
}

TEST(Drain, ConnectionsSeenBeforeTheDrainDoNotEndIt) {
  Stop stop = holding({"a"}, with_proxy());
  stop.connections(0).withdrawn("a").at(20s);
  EXPECT_EQ(stop.phase(), Phase::kDraining);
}

TEST(Drain, DrainsAtLeastForTheLeastDrain) {
  Stop stop = draining(policy([](Policy& p) { p.drain_min.value = 8s; }));
  stop.connections(0).at(17s);
  EXPECT_EQ(stop.phase(), Phase::kDraining);
  stop.at(60s);
  EXPECT_EQ(stop.released(), After(18s));
  EXPECT_EQ(stop.outcome().drain_end, DrainEnd::kDrained);
}

TEST(Drain, ConnectionsThatComeBackWithinTheLeastDrainAreWaitedFor) {
  Stop stop = draining(policy([](Policy& p) { p.drain_min.value = 8s; }));
  stop.connections(0).at(15s).connections(2).at(30s);
  EXPECT_EQ(stop.phase(), Phase::kDraining);
  stop.connections(0);
  EXPECT_EQ(stop.released(), After(30s));
}

TEST(Drain, TheLeastDrainDoesNotOutlastTheDeadline) {
  Stop stop = draining(policy([](Policy& p) { p.drain_min.value = 100s; }));
  stop.connections(0).at(60s);
  EXPECT_EQ(stop.released(), After(59s));
  EXPECT_EQ(stop.outcome().drain_end, DrainEnd::kDeadline);
}

TEST(Drain, DrainMaxEndsTheDrain) {
  Stop stop = draining(policy([](Policy& p) { p.thresholds.drain_max.value = 15s; }));
  EXPECT_EQ(stop.limit(), After(25s));
  stop.connections(3).at(60s);
  EXPECT_EQ(stop.released(), After(25s));
  EXPECT_EQ(stop.outcome().drain_end, DrainEnd::kDrainMax);
}

TEST(Drain, DrainMaxDoesNotOutlastTheDeadline) {
  Stop stop = draining(policy([](Policy& p) { p.thresholds.drain_max.value = 500s; }));
  stop.at(60s);
  EXPECT_EQ(stop.released(), After(59s));
  EXPECT_EQ(stop.outcome().drain_end, DrainEnd::kDeadline);
}

TEST(Drain, TheMarginBeforeTheDeadlineIsConfigurable) {
  Stop stop = draining(policy([](Policy& p) { p.margin.value = 4s; }));
  stop.at(60s);
  EXPECT_EQ(stop.released(), After(56s));
}

TEST(Drain, AConsumerThatComesBackWhileDrainingChangesNothing) {
  Stop stop = draining();
  stop.routable("a").at(12s).connections(0);
  EXPECT_EQ(stop.released(), After(12s));
  EXPECT_EQ(stop.count<ConsumerReturned>(), 0U);
}

// ---- After the release --------------------------------------------------------------------------

TEST(Drain, NothingFollowsTheReleaseButAnswers) {
  Stop stop = holding({"a"}, with_proxy());
  stop.at(3s).tell(ReleaseOrdered{});
  const std::size_t before = stop.count<AskPod>() + stop.count<PhaseEntered>();
  stop.at(4s).network_hook(2).local_hook(3).living().evicted().deleted(60s);
  stop.tell(DrainOrdered{}).tell(ReleaseOrdered{}).routable("a").withdrawn("a").known("b");
  stop.dropped("b").traffic(9).connections(9).connections(0).tell(HookLeft{1}).at(2h);
  EXPECT_EQ(stop.count<AskPod>() + stop.count<PhaseEntered>(), before);
  EXPECT_EQ(stop.count<BeginObserving>(), 1U);
  EXPECT_EQ(stop.count<EndObserving>(), 1U);
  EXPECT_EQ(stop.count<DrainProxy>(), 1U);
  EXPECT_EQ(stop.released(), After(3s));
  EXPECT_EQ(stop.next_wakeup(), nullopt);
  EXPECT_EQ(stop.answer(2), (Answered{4s, Answer::kReleased}));
  EXPECT_EQ(stop.answer(3), (Answered{4s, Answer::kReleased}));
}

TEST(Drain, TheStopOfADeletedPodIsItsLast) {
  Stop stop = holding({"a"});
  EXPECT_FALSE(stop.may_be_followed()) << "it is still going on";
  stop.withdrawn("a").at(60s);
  EXPECT_FALSE(stop.may_be_followed());
}

TEST(Drain, AStopWithoutProofMayBeFollowedByAnother) {
  Stop stop;
  stop.known("a").evicted();
  EXPECT_FALSE(stop.may_be_followed()) << "it is still going on";
  stop.withdrawn("a").at(60s);
  EXPECT_TRUE(stop.may_be_followed());
}

TEST(Drain, TheOutcomeTellsTheWholeStop) {
  Stop stop = draining();
  stop.at(13s).connections(0);
  const Snapshot outcome = stop.outcome();
  EXPECT_EQ(outcome.phase, Phase::kReleased);
  EXPECT_EQ(outcome.trigger, Trigger::kDeletion);
  ASSERT_TRUE(outcome.hold_started && outcome.drain_started && outcome.released);
  EXPECT_EQ(After(*outcome.drain_started - *outcome.hold_started), After(10s));
  EXPECT_EQ(After(*outcome.released - *outcome.drain_started), After(3s));
  EXPECT_EQ(outcome.hold_end, HoldEnd::kAllGone);
  EXPECT_EQ(outcome.drain_end, DrainEnd::kDrained);
  EXPECT_EQ(outcome.limit, nullopt);
  EXPECT_EQ(outcome.hooks_waiting, 0U);
  ASSERT_EQ(outcome.consumers.size(), 1U);
  EXPECT_EQ(outcome.consumers[0].gone_by, GoneBy::kSettle);
}

// ---- Words --------------------------------------------------------------------------------------

// People and dashboards match on these.
TEST(Drain, EveryStateHasItsWord) {
  EXPECT_EQ(to_string(Phase::kServing), "serving");
  EXPECT_EQ(to_string(Phase::kHolding), "holding");
  EXPECT_EQ(to_string(Phase::kDraining), "draining");
  EXPECT_EQ(to_string(Phase::kReleased), "released");
  EXPECT_EQ(to_string(Presence::kRoutable), "routable");
  EXPECT_EQ(to_string(Presence::kLastResort), "last-resort");
  EXPECT_EQ(to_string(Presence::kWithdrawn), "withdrawn");
  EXPECT_EQ(to_string(Presence::kBlind), "blind");
  EXPECT_EQ(to_string(Source::kDefault), "default");
  EXPECT_EQ(to_string(Source::kConfigFile), "config-file");
  EXPECT_EQ(to_string(Source::kEnvironment), "environment");
  EXPECT_EQ(to_string(Source::kPodAnnotation), "pod-annotation");
  EXPECT_EQ(to_string(Source::kServiceAnnotation), "service-annotation");
  EXPECT_EQ(to_string(LastEndpoint::kWait), "wait");
  EXPECT_EQ(to_string(LastEndpoint::kIgnore), "ignore");
  EXPECT_EQ(to_string(Answer::kReleased), "released");
  EXPECT_EQ(to_string(Answer::kContainerRestart), "container-restart");
  EXPECT_EQ(to_string(Answer::kUnverified), "unverified");
  EXPECT_EQ(to_string(GoneBy::kSettle), "settle");
  EXPECT_EQ(to_string(GoneBy::kSilence), "silence");
  EXPECT_EQ(to_string(GoneBy::kBlind), "blind");
  EXPECT_EQ(to_string(Trigger::kDeletion), "deletion");
  EXPECT_EQ(to_string(Trigger::kStopping), "stopping");
  EXPECT_EQ(to_string(Trigger::kUnverified), "unverified");
  EXPECT_EQ(to_string(Trigger::kOperator), "operator");
  EXPECT_EQ(to_string(HoldEnd::kAllGone), "all-gone");
  EXPECT_EQ(to_string(HoldEnd::kHoldMax), "hold-max");
  EXPECT_EQ(to_string(HoldEnd::kDeadline), "deadline");
  EXPECT_EQ(to_string(HoldEnd::kUnproven), "unproven");
  EXPECT_EQ(to_string(HoldEnd::kForced), "forced");
  EXPECT_EQ(to_string(HoldEnd::kPodLives), "pod-lives");
  EXPECT_EQ(to_string(DrainEnd::kDrained), "drained");
  EXPECT_EQ(to_string(DrainEnd::kNoProxy), "no-proxy");
  EXPECT_EQ(to_string(DrainEnd::kDrainMax), "drain-max");
  EXPECT_EQ(to_string(DrainEnd::kDeadline), "deadline");
  EXPECT_EQ(to_string(DrainEnd::kForced), "forced");
  EXPECT_EQ(to_string(DrainEnd::kNotBegun), "not-begun");
}

}  // namespace
}  // namespace lastcall::core
