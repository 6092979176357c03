// What ends a pod, or one of its containers, and whether the agent holds for it (FACTS 1.2).
#include <string>
#include <utility>

#include "tests/sim/stops.h"

namespace lastcall::sim {
namespace {

using fakes::FakeApiServer;

// A pod with time enough for `blind`, whose consumers leave half a second after its deletion.
Scenario stopped_by(StopKind stop, HookKind hook = HookKind::kLocal) {
  auto scenario = calm();
  scenario.grace = seconds(60);
  scenario.stop = stop;
  scenario.hook = hook;
  return scenario;
}

// The same, with consumers that never leave.
Scenario endless(HookKind hook = HookKind::kLocal) {
  auto scenario = stopped_by(StopKind::kDeletion, hook);
  scenario.controller_delay = Millis(200'000);
  return scenario;
}

constexpr HookKind kAnyHook[] = {HookKind::kLocal, HookKind::kKubelet, HookKind::kNone};

// From the start of the hold to its end.
core::Duration held(const Outcome& outcome) {
  return *outcome.snapshot->released - *outcome.snapshot->hold_started;
}

// ---- Deletions ----------------------------------------------------------------------------

TEST(Deletion, IsHeldForAndProven) {
  for (const auto hook : kAnyHook) {
    const auto outcome = run(stopped_by(StopKind::kDeletion, hook));
    expect_released(outcome, "all-gone", milliseconds(3'500), milliseconds(3'600));
    EXPECT_EQ(outcome.snapshot->trigger, core::Trigger::kDeletion);
    EXPECT_TRUE(outcome.snapshot->deadline_proven);
  }
}

TEST(Deletion, ASecondOneWithLessGraceIsNoticedWithoutAnotherHook) {
  for (const auto hook : kAnyHook) {
    auto scenario = endless(hook);
    scenario.shortening = {Millis(5'000), seconds(20), false};
    const auto outcome = run(scenario);
    expect_released(outcome, "deadline", milliseconds(11'000), milliseconds(13'500));
    EXPECT_EQ(outcome.snapshot->budget->grace, seconds(20));
  }
}

TEST(Deletion, ASecondOneThatLeavesNoTimeEndsTheHoldAtOnce) {
  auto scenario = endless();
  scenario.shortening = {Millis(5'000), seconds(2), false};
  expect_released(run(scenario), "deadline", milliseconds(5'000), milliseconds(5'600));
}

TEST(Deletion, ASecondOneWithMoreGraceChangesNothing) {
  auto scenario = endless();
  scenario.shortening = {Millis(5'000), seconds(100), false};
  expect_released(run(scenario), "deadline", milliseconds(48'000), milliseconds(50'000));
}

TEST(Deletion, ASecondOneIsNotNoticedWhereThePodMayNotBeWatchedButForItsHook) {
  auto scenario = endless();
  scenario.healed_at.reset();
  scenario.pod_watch_forbidden = true;
  scenario.shortening = {Millis(5'000), seconds(20), false};
  const auto unnoticed = run(scenario);
  EXPECT_EQ(trouble(unnoticed), "");
  EXPECT_EQ(unnoticed.how, "killed");
  EXPECT_EQ(times_logged(unnoticed, {"\"warn\"", "own-pod-unwatched", "HTTP 403"}), 1U);

  scenario.shortening->hook_again = true;
  const auto told = run(scenario);
  expect_released(told, "deadline", milliseconds(11'000), milliseconds(13'500));
  EXPECT_EQ(told.hooks_answered, 2);
}

TEST(Deletion, ByForceWhileHoldingIsHeldOnByTheGracePeriodKnown) {
  for (const auto hook : kAnyHook) {
    auto scenario = stopped_by(StopKind::kDeletion, hook);
    scenario.controller_delay = Millis(4'000);
    scenario.shortening = {Millis(1'000), seconds(0), false};
    const auto outcome = run(scenario);
    expect_released(outcome, "all-gone", milliseconds(7'000), milliseconds(7'200));
    EXPECT_TRUE(has_logged(outcome, {"own-pod-gone"}));

    scenario.controller_delay = Millis(200'000);
    expect_released(run(scenario), "deadline", milliseconds(48'000), milliseconds(50'000));
  }
}

TEST(Deletion, ByForceFromTheBeginningIsHeldAndNotProvenByATimestamp) {
  for (const auto hook : kAnyHook) {
    auto scenario = stopped_by(StopKind::kForceDeletion, hook);
    const auto outcome = run(scenario);
    expect_released(outcome, "all-gone", milliseconds(3'500), milliseconds(3'600));
    EXPECT_EQ(outcome.snapshot->trigger, core::Trigger::kDeletion);
    EXPECT_FALSE(outcome.snapshot->deadline_proven);

    scenario.controller_delay = Millis(200'000);
    expect_released(run(scenario), "deadline", milliseconds(50'000), milliseconds(50'200));
  }
}

TEST(Deletion, AnEvictionByTheApiIsOne) {
  for (const bool watch_pod : {false, true}) {
    for (const auto hook : kAnyHook) {
      auto scenario = stopped_by(StopKind::kApiEviction, hook);
      scenario.watch_pod = watch_pod;
      const auto outcome = run(scenario);
      expect_released(outcome, "all-gone", milliseconds(3'500), milliseconds(3'600));
      EXPECT_EQ(outcome.snapshot->trigger, core::Trigger::kDeletion);
      EXPECT_TRUE(outcome.snapshot->deadline_proven);
    }
  }
}

TEST(WatchedPod, IsHeldFromItsDeletionOnBeforeAnyHook) {
  auto scenario = stopped_by(StopKind::kDeletion);
  scenario.watch_pod = true;
  scenario.hook_delay = Millis(2'500);
  const auto outcome = run(scenario);
  expect_released(outcome, "all-gone", milliseconds(3'500), milliseconds(3'600));
  EXPECT_GE(held(outcome), milliseconds(3'480));

  scenario.watch_pod = false;
  const auto unwatched = run(scenario);
  expect_released(unwatched, "all-gone", milliseconds(5'500), milliseconds(5'600));
  EXPECT_LE(held(unwatched), milliseconds(3'100));
}

TEST(WatchedPod, ThatHasBeenReleasedAnswersALateHookAtOnce) {
  auto scenario = stopped_by(StopKind::kDeletion);
  scenario.watch_pod = true;
  scenario.hook_delay = Millis(8'000);
  const auto outcome = run(scenario);
  expect_released(outcome, "all-gone", milliseconds(8'000), milliseconds(8'010));
  EXPECT_LE(held(outcome), milliseconds(3'600));
}

TEST(WatchedPod, IsHeldFromAPublishedShutdownOn) {
  auto scenario = stopped_by(StopKind::kShutdown);
  scenario.watch_pod = true;
  scenario.hook_delay = Millis(2'500);
  const auto outcome = run(scenario);
  expect_released(outcome, "unproven", milliseconds(25'000), milliseconds(25'200));
  EXPECT_EQ(outcome.snapshot->trigger, core::Trigger::kStopping);
}

TEST(WatchedPod, ThatMayNotBeWatchedIsHeldByItsHooks) {
  auto scenario = stopped_by(StopKind::kDeletion);
  scenario.healed_at.reset();
  scenario.watch_pod = true;
  scenario.pod_watch_forbidden = true;
  const auto outcome = run(scenario);
  expect_released(outcome, "all-gone", milliseconds(3'500), milliseconds(3'600));
  EXPECT_EQ(times_logged(outcome, {"own-pod-unwatched"}), 1U);
}

// ---- The kubelet --------------------------------------------------------------------------

TEST(KubeletStop, ThatHasBeenPublishedHoldsForBlind) {
  for (const auto hook : kAnyHook) {
    const auto outcome = run(stopped_by(StopKind::kShutdown, hook));
    expect_released(outcome, "unproven", milliseconds(25'050), milliseconds(25'200));
    EXPECT_EQ(outcome.snapshot->trigger, core::Trigger::kStopping);
    EXPECT_EQ(outcome.snapshot->still_there.size(), 2U);
    EXPECT_FALSE(outcome.snapshot->deadline_proven);
  }
}

TEST(KubeletStop, AFailedPodHasLeftItsSlices) {
  for (const auto hook : kAnyHook) {
    const auto outcome = run(stopped_by(StopKind::kEviction, hook));
    expect_released(outcome, "all-gone", milliseconds(3'500), milliseconds(3'700));
    EXPECT_EQ(outcome.snapshot->trigger, core::Trigger::kStopping);
  }
}

TEST(KubeletStop, AShutdownThatOnlyTheNodeShowsHoldsForBlind) {
  for (const auto hook : kAnyHook) {
    auto scenario = stopped_by(StopKind::kNodeShutdown, hook);
    scenario.node_readable = true;
    const auto outcome = run(scenario);
    expect_released(outcome, "unproven", milliseconds(25'050), milliseconds(25'200));
    EXPECT_EQ(outcome.snapshot->trigger, core::Trigger::kStopping);
    EXPECT_TRUE(has_logged(outcome, {"node-ending-pods", "node is shutting down"}));
  }
}

TEST(KubeletStop, AShutdownWithLittleGraceKeepsTheReserve) {
  auto scenario = stopped_by(StopKind::kNodeShutdown);
  scenario.node_readable = true;
  scenario.grace = seconds(24);
  expect_released(run(scenario), "deadline", milliseconds(16'000), milliseconds(16'100));
}

// Pressure is no proof: nothing on the network starts a hold by it.
TEST(KubeletStop, OnANodeUnderPressureAHookOfTheNetworkIsUnverifiedAfterBlind) {
  auto scenario = stopped_by(StopKind::kNodePressure, HookKind::kKubelet);
  scenario.node_readable = true;
  const auto outcome = run(scenario);
  expect_released(outcome, "unverified", milliseconds(25'050), milliseconds(25'200));
  EXPECT_EQ(outcome.snapshot->phase, core::Phase::kServing);
  EXPECT_TRUE(has_logged(outcome, {"node-ending-pods", "DiskPressure"}));
}

TEST(KubeletStop, OnANodeUnderPressureALocalHookHoldsForBlind) {
  for (const auto hook : {HookKind::kLocal, HookKind::kNone}) {
    auto scenario = stopped_by(StopKind::kNodePressure, hook);
    scenario.node_readable = true;
    const auto outcome = run(scenario);
    expect_released(outcome, "unproven", milliseconds(25'050), milliseconds(25'200));
    EXPECT_EQ(outcome.snapshot->trigger, core::Trigger::kUnverified);
  }
}

TEST(KubeletStop, ThatIsFollowedByADeletionIsProvenThen) {
  for (const auto stop : {StopKind::kNodeShutdown, StopKind::kNodePressure}) {
    auto scenario = stopped_by(stop);
    scenario.node_readable = true;
    scenario.interventions = {{scenario.stop_at + Millis(5'000),
                               [](FakeApiServer& server) { server.delete_pod("own"); }}};
    const auto outcome = run(scenario);
    expect_released(outcome, "all-gone", milliseconds(8'500), milliseconds(8'700));
    EXPECT_TRUE(outcome.snapshot->deadline_proven);
  }
}

// Most roles do not reach Nodes: such a stop cannot be told from the restart of one container.
TEST(KubeletStop, OfANodeThatMayNotBeReadLooksLikeAContainerRestart) {
  for (const auto stop : {StopKind::kNodeShutdown, StopKind::kNodePressure}) {
    for (const auto hook : kAnyHook) {
      auto scenario = stopped_by(stop, hook);
      const auto outcome = run(scenario);
      EXPECT_EQ(trouble(outcome), "");
      EXPECT_EQ(outcome.how, "container-restart");
      EXPECT_LE(*outcome.released, hook == HookKind::kNone ? milliseconds(300) : milliseconds(60));
      EXPECT_EQ(times_logged(outcome, {"\"info\"", "node-unreadable", "HTTP 403", "nodes"}), 1U);
    }
  }
}

// ---- One container ------------------------------------------------------------------------

TEST(ContainerRestart, OnAHealthyNodeIsAnsweredAtOnceAndALaterStopHolds) {
  for (const auto hook : {HookKind::kLocal, HookKind::kKubelet}) {
    auto scenario = stopped_by(StopKind::kDeletion, hook);
    scenario.node_readable = true;
    scenario.liveness_at = Millis(5'000);
    scenario.stop_at = Millis(30'000);
    const auto outcome = run(scenario);
    ASSERT_TRUE(outcome.liveness_waited);
    EXPECT_LE(*outcome.liveness_waited, milliseconds(50));
    expect_released(outcome, "all-gone", milliseconds(3'500), milliseconds(3'600));
    EXPECT_FALSE(has_logged(outcome, {"node-unreadable"}));
  }
}

TEST(ContainerRestart, OnANodeUnderPressureWaitsForBlindAndALaterStopHolds) {
  for (const auto hook : {HookKind::kLocal, HookKind::kKubelet}) {
    auto scenario = stopped_by(StopKind::kDeletion, hook);
    scenario.node_readable = true;
    scenario.arrange = [](FakeApiServer& server) {
      server.store().put(fakes::Node{.name = "node-a", .pressures = {"MemoryPressure"}});
    };
    scenario.liveness_at = Millis(5'000);
    scenario.stop_at = Millis(40'000);
    const auto outcome = run(scenario);
    ASSERT_TRUE(outcome.liveness_waited);
    EXPECT_GE(*outcome.liveness_waited, seconds(25));
    EXPECT_LE(*outcome.liveness_waited, milliseconds(25'010));
    expect_released(outcome, "all-gone", milliseconds(3'500), milliseconds(3'600));
  }
}

TEST(ContainerRestart, OfTheAgentItselfEndsItAndALaterStopHolds) {
  auto scenario = stopped_by(StopKind::kDeletion);
  scenario.sigterms_at = {scenario.stop_at - Millis(2'000)};
  const auto outcome = run(scenario);
  expect_released(outcome, "all-gone", milliseconds(3'500), milliseconds(3'600));
  EXPECT_EQ(times_logged(outcome, {"kubelet: the agent has ended"}), 2U);
}

// ---- Several hooks ------------------------------------------------------------------------

TEST(Hooks, OfSeveralContainersAreAnsweredTogether) {
  for (const auto hook : {HookKind::kLocal, HookKind::kKubelet}) {
    auto scenario = stopped_by(StopKind::kDeletion, hook);
    scenario.containers = 3;
    const auto outcome = run(scenario);
    expect_released(outcome, "all-gone", milliseconds(3'500), milliseconds(3'600));
    EXPECT_EQ(outcome.hooks_answered, 3);
    EXPECT_EQ(times_logged(outcome, {"\"phase\":\"holding\""}), 1U);
  }
}

TEST(Hooks, OfAKubeletThatIsStartedAnewAreAnsweredToo) {
  for (const auto hook : {HookKind::kLocal, HookKind::kKubelet}) {
    auto scenario = stopped_by(StopKind::kDeletion, hook);
    scenario.controller_delay = Millis(6'000);
    scenario.containers = 3;
    scenario.kubelet_restart_at = scenario.stop_at + Millis(2'000);
    const auto outcome = run(scenario);
    expect_released(outcome, "all-gone", milliseconds(9'000), milliseconds(9'100));
    // Those it called over the network before wait no more.
    EXPECT_EQ(outcome.hooks_answered, hook == HookKind::kLocal ? 6 : 3);
  }
}

// The hold goes on by itself while nobody waits for it.
TEST(Hooks, OfAKubeletThatComesBackAfterTheReleaseAreAnsweredAtOnce) {
  auto scenario = stopped_by(StopKind::kDeletion, HookKind::kKubelet);
  scenario.kubelet_restart_at = scenario.stop_at + Millis(2'000);
  const auto outcome = run(scenario);
  expect_released(outcome, "all-gone", milliseconds(4'000), milliseconds(4'010));
  EXPECT_LE(held(outcome), milliseconds(3'500));
}

TEST(Hooks, OfSeveralContainersTakenForRestartsAreAllAnswered) {
  auto scenario = stopped_by(StopKind::kNodeShutdown, HookKind::kKubelet);
  scenario.containers = 3;
  const auto outcome = run(scenario);
  EXPECT_EQ(trouble(outcome), "");
  EXPECT_EQ(outcome.how, "container-restart");
  EXPECT_EQ(outcome.hooks_answered, 3);
}

// ---- SIGTERM to the agent -----------------------------------------------------------------

TEST(Sigterm, WithoutAnyHookHoldsLikeOneAndTheAgentEndsAfterTheRelease) {
  auto scenario = stopped_by(StopKind::kDeletion, HookKind::kNone);
  scenario.controller_delay = Millis(4'000);
  const auto outcome = run(scenario);
  expect_released(outcome, "all-gone", milliseconds(7'000), milliseconds(7'100));
  EXPECT_TRUE(has_logged(outcome, {"\"sigterm\"", "serving"}));
  EXPECT_EQ(times_logged(outcome, {"kubelet: the agent has ended"}), 1U);
}

TEST(Sigterm, WithoutAnyHookAndWithoutTheApiHoldsForBlind) {
  auto scenario = stopped_by(StopKind::kDeletion, HookKind::kNone);
  scenario.healed_at.reset();
  scenario.down_from = scenario.stop_at - Millis(100);
  expect_released(run(scenario), "blind", milliseconds(25'050), milliseconds(25'200));
}

TEST(Sigterm, BeforeDuringAndAfterTheHooksChangesNothing) {
  for (const auto hook : {HookKind::kLocal, HookKind::kKubelet}) {
    for (const Millis when : {Millis(100), Millis(600), Millis(2'000), Millis(4'000)}) {
      auto scenario = stopped_by(StopKind::kDeletion, hook);
      scenario.controller_delay = Millis(4'000);
      scenario.hook_delay = Millis(500);
      scenario.sigterms_at = {scenario.stop_at + when};
      const auto outcome = run(scenario);
      expect_released(outcome, "all-gone", milliseconds(7'000), milliseconds(7'100));
      EXPECT_EQ(outcome.hooks_answered, 1);
    }
  }
}

// Before the kubelet calls its hooks the hold has begun.
TEST(Sigterm, BeforeTheHooksIsTheStartOfTheHold) {
  auto scenario = stopped_by(StopKind::kDeletion, HookKind::kKubelet);
  scenario.hook_delay = Millis(2'000);
  scenario.sigterms_at = {scenario.stop_at + Millis(100)};
  const auto outcome = run(scenario);
  expect_released(outcome, "all-gone", milliseconds(3'500), milliseconds(3'600));
  EXPECT_GE(held(outcome), milliseconds(3'390));
}

// Some container runtimes send it again with each attempt to stop the container.
TEST(Sigterm, ASecondOneIsNoReasonToLeaveBeforeTheRelease) {
  for (const auto hook : kAnyHook) {
    auto scenario = stopped_by(StopKind::kDeletion, hook);
    scenario.controller_delay = Millis(4'000);
    scenario.sigterms_at = {scenario.stop_at + Millis(1'000), scenario.stop_at + Millis(2'000)};
    const auto outcome = run(scenario);
    expect_released(outcome, "all-gone", milliseconds(7'000), milliseconds(7'100));
  }
}

// Found by seeds 462 and 12765: what told the agent to end was the restart of its own container,
// as it learns when the stop has begun.
TEST(Sigterm, BeforeTheStopLeavesNobodyAloneThatCallsMeanwhile) {
  for (const auto hook : kAnyHook) {
    auto scenario = stopped_by(StopKind::kDeletion, hook);
    scenario.healed_at.reset();
    scenario.faults.latency_least = scenario.faults.latency_most = milliseconds(300);
    scenario.sigterms_at = {scenario.stop_at - Millis(400)};
    const auto outcome = run(scenario);
    expect_released(outcome, "all-gone", milliseconds(3'500), milliseconds(5'500));
    EXPECT_TRUE(has_logged(outcome, {"hook-answered", "container-restart"}));
    EXPECT_EQ(times_logged(outcome, {"kubelet: the agent has ended"}), 1U);
  }
}

// ---- The agent starts in the middle --------------------------------------------------------

TEST(StartedAnew, TheAgentFindsAStopThatOnlyTheNodeShows) {
  auto scenario = stopped_by(StopKind::kNodeShutdown);
  scenario.healed_at.reset();
  scenario.node_readable = true;
  scenario.restarts_at = {scenario.stop_at + Millis(3'000)};
  expect_released(run(scenario), "unproven", milliseconds(28'300), milliseconds(28'700));
}

TEST(StartedAnew, TheAgentCannotReadAPodThatWasDeletedByForce) {
  auto scenario = stopped_by(StopKind::kDeletion);
  scenario.healed_at.reset();
  scenario.controller_delay = Millis(4'000);
  scenario.shortening = {Millis(1'000), seconds(0), false};
  scenario.restarts_at = {scenario.stop_at + Millis(2'000)};
  const auto outcome = run(scenario);
  expect_released(outcome, "blind", milliseconds(27'300), milliseconds(27'700));
  EXPECT_TRUE(has_logged(outcome, {"own-pod-unreadable", "HTTP 404"}));
}

}  // namespace
}  // namespace lastcall::sim
