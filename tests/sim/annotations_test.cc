// What annotations of Services and of the Pod do to a stop, from its beginning and in its middle
// (docs/annotations.md).
#include <functional>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "tests/sim/stops.h"

namespace lastcall::sim {
namespace {

using core::Source;
using fakes::FakeApiServer;
using Change = std::function<void(FakeApiServer&)>;

// A pod with time enough, and one Service which would be waited for until the deadline: its slices
// never turn.
Scenario endless() {
  auto scenario = calm(ServiceTraits{});
  scenario.grace = seconds(60);
  scenario.controller_delay = Millis(200'000);
  return scenario;
}

// Two Services, of which only svc-0 will be annotated. Both withdraw half a second after the stop.
Scenario pair_of_services() {
  auto scenario = calm();
  scenario.grace = seconds(60);
  return scenario;
}

void arrange(Scenario& scenario, std::initializer_list<Change> changes) {
  scenario.arrange = [changes = std::vector<Change>(changes)](FakeApiServer& server) {
    for (const auto& change : changes) change(server);
  };
}

// So long after the stop began.
void while_holding(Scenario& scenario, Millis after, Change change) {
  scenario.interventions.emplace_back(scenario.stop_at + after, std::move(change));
}

core::Thresholds thresholds(const Outcome& outcome, const std::string& service = "svc-0") {
  return consumer(outcome, "endpointslices", service).thresholds;
}

// ---- Whose word counts --------------------------------------------------------------------

TEST(AnnotationPrecedence, TheServiceGoesBeforeThePodAndThePodBeforeTheFile) {
  auto scenario = pair_of_services();
  scenario.others = {2, 2, 2};
  scenario.settle = Millis(4'000);  // in the file
  arrange(scenario, {annotate("svc-0", {{"lastcall/settle", "1s"}}),
                     annotate_pod({{"lastcall/settle", "2s"}, {"lastcall/blind", "9s"}})});
  const auto outcome = run(scenario);
  expect_released(outcome, "all-gone", milliseconds(2'500), milliseconds(2'700));
  using Duration = core::Sourced<core::Duration>;
  EXPECT_EQ(thresholds(outcome).settle, (Duration{seconds(1), Source::kServiceAnnotation}));
  EXPECT_EQ(thresholds(outcome).blind, (Duration{seconds(9), Source::kPodAnnotation}));
  EXPECT_EQ(thresholds(outcome, "svc-1").settle, (Duration{seconds(2), Source::kPodAnnotation}));

  arrange(scenario, {annotate("svc-0", {{"lastcall/settle", "1s"}})});
  const auto without_pod = run(scenario);
  expect_released(without_pod, "all-gone", milliseconds(4'500), milliseconds(4'700));
  EXPECT_EQ(thresholds(without_pod, "svc-1").settle, (Duration{seconds(4), Source::kConfigFile}));
  EXPECT_EQ(thresholds(without_pod).blind, (Duration{seconds(25), Source::kDefault}));
}

// Every duration, each with a value of its own: `first` milliseconds, and so on.
fakes::Labels durations_from(int first) {
  fakes::Labels annotations;
  for (const char* key :
       {"lastcall/settle", "lastcall/quiet", "lastcall/blind", "lastcall/hold-min",
        "lastcall/hold-max", "lastcall/reserve", "lastcall/drain-max"}) {
    annotations[key] = std::to_string(first++) + "ms";
  }
  return annotations;
}

void expect_durations_from(int first, Source source, const core::Thresholds& said) {
  const auto expect_next = [&](const auto& threshold) {
    EXPECT_EQ(threshold.source, source);
    EXPECT_EQ(threshold.value, milliseconds(first++));
  };
  expect_next(said.settle);
  expect_next(said.quiet);
  expect_next(said.blind);
  expect_next(said.hold_min);
  expect_next(said.hold_max);
  expect_next(said.reserve);
  expect_next(said.drain_max);
  EXPECT_EQ(said.last_endpoint.source, source);
}

TEST(AnnotationPrecedence, HoldsForEveryKey) {
  auto scenario = pair_of_services();
  auto by_service = durations_from(700);
  by_service["lastcall/last-endpoint"] = "ignore";
  auto by_pod = durations_from(800);
  by_pod["lastcall/last-endpoint"] = "wait";
  arrange(scenario, {annotate("svc-0", by_service), annotate_pod(by_pod)});
  const auto outcome = run(scenario);
  EXPECT_EQ(trouble(outcome), "");
  expect_durations_from(700, Source::kServiceAnnotation, thresholds(outcome, "svc-0"));
  expect_durations_from(800, Source::kPodAnnotation, thresholds(outcome, "svc-1"));
  EXPECT_EQ(thresholds(outcome, "svc-0").last_endpoint.value, core::LastEndpoint::kIgnore);
  EXPECT_EQ(thresholds(outcome, "svc-1").last_endpoint.value, core::LastEndpoint::kWait);
}

TEST(AnnotationPrecedence, AServiceMayBeWaitedForAlthoughThePodIgnoresAll) {
  auto scenario = pair_of_services();
  scenario.traits = {ServiceTraits{}, ServiceTraits{.settle = Millis(9'000)}};
  arrange(scenario, {annotate("svc-0", {{"lastcall/ignore", "false"}}),
                     annotate_pod({{"lastcall/ignore", "true"}})});
  const auto outcome = run(scenario);
  expect_released(outcome, "all-gone", milliseconds(3'500), milliseconds(3'700));
  EXPECT_TRUE(has_logged(outcome, {"service-ignored", "svc-1", "of the Pod"}));
  EXPECT_EQ(outcome.snapshot->consumers.size(), 1U);
}

TEST(AnnotationPrecedence, APodThatIgnoresAllOfItsServicesIsReleasedAtOnce) {
  auto scenario = endless();
  arrange(scenario, {annotate_pod({{"lastcall/ignore", "true"}})});
  expect_released(run(scenario), "all-gone", milliseconds(50), milliseconds(100));
}

TEST(AnnotationPrecedence, ABlindOfItsOwnShortensWhatIsNeverPublished) {
  auto scenario = calm(ServiceTraits{.publish_not_ready = true});
  arrange(scenario, {annotate("svc-0", {{"lastcall/blind", "5s"}})});
  expect_released(run(scenario), "all-gone", milliseconds(5'500), milliseconds(5'700));
}

// ---- Several Services ---------------------------------------------------------------------

TEST(SeveralServices, TheLongestHoldMinCounts) {
  auto scenario = pair_of_services();
  arrange(scenario, {annotate("svc-0", {{"lastcall/hold-min", "8s"}})});
  expect_released(run(scenario), "all-gone", milliseconds(8'050), milliseconds(8'100));
}

TEST(SeveralServices, TheLongestReserveCounts) {
  auto scenario = pair_of_services();
  scenario.controller_delay = Millis(200'000);
  arrange(scenario, {annotate("svc-0", {{"lastcall/reserve", "25s"}}),
                     annotate("svc-1", {{"lastcall/reserve", "2s"}})});
  expect_released(run(scenario), "deadline", milliseconds(33'000), milliseconds(35'000));
}

// One that says nothing asks for the usual reserve.
TEST(SeveralServices, AShorterReserveOfOneChangesNothing) {
  auto scenario = pair_of_services();
  scenario.controller_delay = Millis(200'000);
  arrange(scenario, {annotate("svc-0", {{"lastcall/reserve", "2s"}})});
  expect_released(run(scenario), "deadline", milliseconds(48'000), milliseconds(50'000));
}

// Nobody reports traffic, so that the quiet is seen in what fits into the grace period only.
TEST(SeveralServices, TheLongestQuietCounts) {
  auto scenario = pair_of_services();
  arrange(scenario, {annotate("svc-0", {{"lastcall/quiet", "7s"}})});
  const auto outcome = run(scenario);
  expect_released(outcome, "all-gone", milliseconds(3'500), milliseconds(3'700));
  ASSERT_TRUE(outcome.snapshot->budget);
  EXPECT_EQ(outcome.snapshot->budget->settle_needs, seconds(3 + 7));
}

TEST(SeveralServices, HoldMaxOfOneEndsTheWaitForThatOneOnly) {
  auto scenario = pair_of_services();
  scenario.controller_delay = Millis(10'000);
  arrange(scenario, {annotate("svc-0", {{"lastcall/hold-max", "2s"}})});
  expect_released(run(scenario), "all-gone", milliseconds(13'000), milliseconds(13'200));
  arrange(scenario, {annotate("svc-0", {{"lastcall/hold-max", "2s"}}),
                     annotate("svc-1", {{"lastcall/hold-max", "4s"}})});
  const auto outcome = run(scenario);
  expect_released(outcome, "hold-max", milliseconds(4'050), milliseconds(4'100));
  EXPECT_EQ(outcome.snapshot->still_there.size(), 2U);
}

// ---- Malformed ----------------------------------------------------------------------------

TEST(MalformedAnnotation, WarnsAndFallsThroughToTheFile) {
  auto scenario = pair_of_services();
  arrange(scenario, {annotate("svc-0", {{"lastcall/settle", "3"}})});
  const auto outcome = run(scenario);
  expect_released(outcome, "all-gone", milliseconds(3'500), milliseconds(3'700));
  EXPECT_EQ(thresholds(outcome).settle.source, Source::kConfigFile);
  EXPECT_EQ(times_logged(outcome, {"\"warn\"", "annotation-malformed", "Service shop/svc-0",
                                   "\"key\":\"lastcall/settle\"", "\"value\":\"3\"",
                                   "'3', expected a duration between 0 and 24h"}),
            1U);
}

TEST(MalformedAnnotation, OfAServiceFallsThroughToThePod) {
  auto scenario = pair_of_services();
  arrange(scenario, {annotate("svc-0", {{"lastcall/settle", "soon"}}),
                     annotate_pod({{"lastcall/settle", "5s"}})});
  const auto outcome = run(scenario);
  expect_released(outcome, "all-gone", milliseconds(5'500), milliseconds(5'700));
  EXPECT_EQ(thresholds(outcome).settle.source, Source::kPodAnnotation);
}

TEST(MalformedAnnotation, OfThePodWarnsAndFallsThroughToTheFile) {
  auto scenario = pair_of_services();
  arrange(scenario, {annotate_pod({{"lastcall/ignore", "yes"}})});
  const auto outcome = run(scenario);
  expect_released(outcome, "all-gone", milliseconds(3'500), milliseconds(3'700));
  EXPECT_EQ(
      times_logged(outcome, {"annotation-malformed", "Pod shop/own", "\"key\":\"lastcall/ignore\"",
                             "\"value\":\"yes\"", "expected true or false"}),
      1U);
}

// What it said before is said no longer.
TEST(MalformedAnnotation, ThatAppearsWhileHoldingWarnsAndFallsBack) {
  auto scenario = pair_of_services();
  scenario.traits = {ServiceTraits{.settle = Millis(20'000)}};
  while_holding(scenario, Millis(4'500), annotate("svc-0", {{"lastcall/settle", "-1s"}}));
  const auto outcome = run(scenario);
  expect_released(outcome, "all-gone", milliseconds(4'500), milliseconds(4'600));
  EXPECT_EQ(times_logged(outcome, {"annotation-malformed", "'-1s', expected a duration"}), 1U);
}

TEST(MalformedAnnotation, AMisspeltKeyIsAskedBack) {
  auto scenario = pair_of_services();
  while_holding(scenario, Millis(1'000), annotate("svc-0", {{"lastcall/setle", "9s"}}));
  const auto outcome = run(scenario);
  expect_released(outcome, "all-gone", milliseconds(3'500), milliseconds(3'700));
  EXPECT_TRUE(has_logged(outcome, {"annotation-malformed", "lastcall/setle",
                                   "unknown annotation, did you mean settle?"}));
}

TEST(MalformedAnnotation, AHoldMinOverTheHoldMaxIsLeftOut) {
  auto scenario = pair_of_services();
  arrange(scenario,
          {annotate("svc-0", {{"lastcall/hold-min", "40s"}, {"lastcall/hold-max", "30s"}})});
  const auto outcome = run(scenario);
  expect_released(outcome, "all-gone", milliseconds(3'500), milliseconds(3'700));
  EXPECT_TRUE(has_logged(outcome, {"annotation-malformed", "\"key\":\"lastcall/hold-min\"",
                                   "40s is longer than lastcall/hold-max, which is 30s"}));
}

// ---- Changed while holding: on the Service ------------------------------------------------

TEST(ServiceAnnotatedWhileHolding, IgnoredItIsReleasedThen) {
  auto scenario = endless();
  while_holding(scenario, Millis(4'000), annotate("svc-0", {{"lastcall/ignore", "true"}}));
  const auto outcome = run(scenario);
  expect_released(outcome, "all-gone", milliseconds(4'000), milliseconds(4'100));
  EXPECT_TRUE(has_logged(outcome, {"service-ignored", "svc-0", "of the Service"}));
  EXPECT_TRUE(outcome.snapshot->consumers.empty());
}

TEST(ServiceAnnotatedWhileHolding, IgnoredNoMoreItIsWaitedForAnew) {
  auto scenario = pair_of_services();
  scenario.traits = {ServiceTraits{}, ServiceTraits{.settle = Millis(20'000)}};
  arrange(scenario, {annotate("svc-0", {{"lastcall/ignore", "true"}})});
  while_holding(scenario, Millis(12'000), annotate("svc-1", {{"lastcall/settle", "14s"}}));
  while_holding(scenario, Millis(13'000), annotate("svc-0", {}));
  const auto outcome = run(scenario);
  expect_released(outcome, "all-gone", milliseconds(16'000), milliseconds(16'100));
}

TEST(ServiceAnnotatedWhileHolding, IgnoredForAWhileItIsLookedAtAgain) {
  auto scenario = pair_of_services();
  scenario.traits = {ServiceTraits{}, ServiceTraits{.settle = Millis(9'000)}};
  while_holding(scenario, Millis(2'000), annotate("svc-0", {{"lastcall/ignore", "true"}}));
  while_holding(scenario, Millis(8'000), annotate("svc-0", {}));
  const auto outcome = run(scenario);
  expect_released(outcome, "all-gone", milliseconds(11'000), milliseconds(11'100));
  EXPECT_EQ(consumer(outcome, "endpointslices", "svc-0").gone_by, core::GoneBy::kSettle);
}

TEST(ServiceAnnotatedWhileHolding, ASettleThatIsLoweredHasAlreadyStood) {
  auto scenario = pair_of_services();
  scenario.traits = {ServiceTraits{.settle = Millis(20'000)}};
  while_holding(scenario, Millis(5'000), annotate("svc-0", {{"lastcall/settle", "4s"}}));
  expect_released(run(scenario), "all-gone", milliseconds(5'000), milliseconds(5'100));
}

TEST(ServiceAnnotatedWhileHolding, ASettleThatIsLoweredAndHasNotStoodYetIsCountedFromTheStart) {
  auto scenario = pair_of_services();
  scenario.traits = {ServiceTraits{.settle = Millis(20'000)}};
  while_holding(scenario, Millis(5'000), annotate("svc-0", {{"lastcall/settle", "8s"}}));
  expect_released(run(scenario), "all-gone", milliseconds(8'500), milliseconds(8'600));
}

TEST(ServiceAnnotatedWhileHolding, ASettleThatIsRaisedIsStoodToItsEnd) {
  auto scenario = pair_of_services();
  while_holding(scenario, Millis(2'000), annotate("svc-0", {{"lastcall/settle", "12s"}}));
  const auto outcome = run(scenario);
  expect_released(outcome, "all-gone", milliseconds(12'500), milliseconds(12'600));
  EXPECT_EQ(thresholds(outcome).settle.source, Source::kServiceAnnotation);
}

TEST(ServiceAnnotatedWhileHolding, ABlindThatIsLoweredEndsTheWaitForWhatCannotBeSeen) {
  auto scenario = pair_of_services();
  scenario.healed_at.reset();
  scenario.slices_forbidden = true;
  while_holding(scenario, Millis(5'000), annotate("svc-0", {{"lastcall/blind", "7s"}}));
  while_holding(scenario, Millis(9'000), annotate("svc-1", {{"lastcall/blind", "7s"}}));
  expect_released(run(scenario), "blind", milliseconds(9'000), milliseconds(9'100));
}

TEST(ServiceAnnotatedWhileHolding, ABlindThatIsRaisedProlongsIt) {
  auto scenario = pair_of_services();
  scenario.healed_at.reset();
  scenario.slices_forbidden = true;
  while_holding(scenario, Millis(5'000), annotate("svc-0", {{"lastcall/blind", "40s"}}));
  expect_released(run(scenario), "blind", milliseconds(40'000), milliseconds(40'200));
}

// Slices that were seen and are seen no longer: what they said last is not news.
TEST(ServiceAnnotatedWhileHolding, WhatCannotBeSeenStaysBlind) {
  auto scenario = endless();
  scenario.healed_at.reset();
  while_holding(scenario, Millis(3'000), [](FakeApiServer& server) {
    server.forbid("watch", "endpointslices");
    server.forbid("list", "endpointslices");
    server.end_watches();
  });
  while_holding(scenario, Millis(10'000), annotate("svc-0", {{"lastcall/quiet", "2s"}}));
  expect_released(run(scenario), "blind", milliseconds(28'000), milliseconds(29'000));
}

TEST(ServiceAnnotatedWhileHolding, AHoldMaxEndsTheWait) {
  auto scenario = endless();
  while_holding(scenario, Millis(4'000), annotate("svc-0", {{"lastcall/hold-max", "6s"}}));
  const auto outcome = run(scenario);
  expect_released(outcome, "hold-max", milliseconds(6'050), milliseconds(6'100));
  EXPECT_EQ(outcome.snapshot->still_there.at(0).name, "shop/svc-0");
}

TEST(ServiceAnnotatedWhileHolding, AHoldMaxThatHasPassedEndsItAtOnce) {
  auto scenario = endless();
  while_holding(scenario, Millis(4'000), annotate("svc-0", {{"lastcall/hold-max", "1s"}}));
  expect_released(run(scenario), "hold-max", milliseconds(4'000), milliseconds(4'100));
}

TEST(ServiceAnnotatedWhileHolding, AHoldMaxThatIsTakenBackIsNone) {
  auto scenario = endless();
  arrange(scenario, {annotate("svc-0", {{"lastcall/hold-max", "6s"}})});
  while_holding(scenario, Millis(4'000), annotate("svc-0", {}));
  expect_released(run(scenario), "deadline", milliseconds(48'000), milliseconds(50'000));
}

TEST(ServiceAnnotatedWhileHolding, LastEndpointIgnoreEndsTheWaitForAnother) {
  auto scenario = calm(ServiceTraits{});
  scenario.others = {0};
  while_holding(scenario, Millis(6'000), annotate("svc-0", {{"lastcall/last-endpoint", "ignore"}}));
  const auto outcome = run(scenario);
  expect_released(outcome, "all-gone", milliseconds(9'000), milliseconds(9'100));
  EXPECT_EQ(consumer(outcome, "endpointslices", "svc-0").presence, core::Presence::kWithdrawn);
}

TEST(ServiceAnnotatedWhileHolding, LastEndpointWaitBringsTheWaitBack) {
  auto scenario = calm(ServiceTraits{});
  scenario.others = {0};
  scenario.ignore_last_resort = true;
  while_holding(scenario, Millis(2'000), annotate("svc-0", {{"lastcall/last-endpoint", "wait"}}));
  scenario.replacement_at = scenario.stop_at + Millis(8'000);
  const auto outcome = run(scenario);
  expect_released(outcome, "all-gone", milliseconds(11'500), milliseconds(11'600));
  EXPECT_TRUE(has_logged(outcome, {"consumer-returned", "svc-0"}));
}

TEST(ServiceAnnotatedWhileHolding, AHoldMinProlongsTheHold) {
  auto scenario = pair_of_services();
  while_holding(scenario, Millis(1'000), annotate("svc-1", {{"lastcall/hold-min", "8s"}}));
  expect_released(run(scenario), "all-gone", milliseconds(8'050), milliseconds(8'100));
}

TEST(ServiceAnnotatedWhileHolding, AReserveShortensTheHold) {
  auto scenario = endless();
  while_holding(scenario, Millis(4'000), annotate("svc-0", {{"lastcall/reserve", "40s"}}));
  expect_released(run(scenario), "deadline", milliseconds(18'000), milliseconds(20'000));
}

TEST(ServiceAnnotatedWhileHolding, AnnotationsThatAreRemovedFallBackToThePod) {
  auto scenario = pair_of_services();
  scenario.traits = {ServiceTraits{.settle = Millis(20'000)}};
  arrange(scenario, {annotate_pod({{"lastcall/settle", "6s"}})});
  while_holding(scenario, Millis(4'000), annotate("svc-0", {}));
  const auto outcome = run(scenario);
  expect_released(outcome, "all-gone", milliseconds(6'500), milliseconds(6'600));
  EXPECT_EQ(thresholds(outcome).settle.source, Source::kPodAnnotation);
}

// ---- Changed while holding: on the Pod ----------------------------------------------------

TEST(PodAnnotatedWhileHolding, IgnoringAllItsServicesItIsReleasedThen) {
  auto scenario = endless();
  while_holding(scenario, Millis(4'000), annotate_pod({{"lastcall/ignore", "true"}}));
  const auto outcome = run(scenario);
  expect_released(outcome, "all-gone", milliseconds(4'000), milliseconds(4'100));
  EXPECT_TRUE(has_logged(outcome, {"service-ignored", "svc-0", "of the Pod"}));
}

TEST(PodAnnotatedWhileHolding, ASettleThatIsLoweredHasAlreadyStood) {
  auto scenario = pair_of_services();
  scenario.settle = Millis(20'000);
  while_holding(scenario, Millis(5'000), annotate_pod({{"lastcall/settle", "4s"}}));
  expect_released(run(scenario), "all-gone", milliseconds(5'000), milliseconds(5'100));
}

TEST(PodAnnotatedWhileHolding, ASettleThatIsRaisedIsStoodToItsEnd) {
  auto scenario = pair_of_services();
  while_holding(scenario, Millis(2'000), annotate_pod({{"lastcall/settle", "12s"}}));
  const auto outcome = run(scenario);
  expect_released(outcome, "all-gone", milliseconds(12'500), milliseconds(12'600));
  EXPECT_EQ(thresholds(outcome).settle.source, Source::kPodAnnotation);
}

TEST(PodAnnotatedWhileHolding, TheServicesOwnWordStands) {
  auto scenario = pair_of_services();
  scenario.traits = {ServiceTraits{.settle = Millis(6'000)}};
  while_holding(scenario, Millis(2'000), annotate_pod({{"lastcall/settle", "1s"}}));
  const auto outcome = run(scenario);
  expect_released(outcome, "all-gone", milliseconds(6'500), milliseconds(6'600));
  EXPECT_EQ(thresholds(outcome, "svc-1").settle.source, Source::kPodAnnotation);
}

TEST(PodAnnotatedWhileHolding, ABlindThatIsLoweredEndsTheWaitForWhatCannotBeSeen) {
  auto scenario = pair_of_services();
  scenario.healed_at.reset();
  scenario.slices_forbidden = true;
  while_holding(scenario, Millis(5'000), annotate_pod({{"lastcall/blind", "3s"}}));
  expect_released(run(scenario), "blind", milliseconds(5'000), milliseconds(5'100));
}

// Somebody unknown may be sending: what the Pod says holds for them.
TEST(PodAnnotatedWhileHolding, ABlindHoldsForServicesThatCannotBeLearntToo) {
  auto scenario = pair_of_services();
  scenario.healed_at.reset();
  scenario.services_forbidden = true;
  while_holding(scenario, Millis(5'000), annotate_pod({{"lastcall/blind", "3s"}}));
  expect_released(run(scenario), "blind", milliseconds(5'000), milliseconds(5'100));
  scenario.interventions.clear();
  arrange(scenario, {annotate_pod({{"lastcall/blind", "8s"}})});
  expect_released(run(scenario), "blind", milliseconds(8'050), milliseconds(8'100));
}

TEST(PodAnnotatedWhileHolding, AHoldMaxEndsTheWait) {
  auto scenario = endless();
  while_holding(scenario, Millis(4'000), annotate_pod({{"lastcall/hold-max", "6s"}}));
  expect_released(run(scenario), "hold-max", milliseconds(6'050), milliseconds(6'100));
}

TEST(PodAnnotatedWhileHolding, LastEndpointIgnoreEndsTheWaitForAnother) {
  auto scenario = calm(ServiceTraits{});
  scenario.others = {0};
  while_holding(scenario, Millis(6'000), annotate_pod({{"lastcall/last-endpoint", "ignore"}}));
  expect_released(run(scenario), "all-gone", milliseconds(9'000), milliseconds(9'100));
}

TEST(PodAnnotatedWhileHolding, AHoldMinProlongsTheHold) {
  auto scenario = pair_of_services();
  while_holding(scenario, Millis(1'000), annotate_pod({{"lastcall/hold-min", "8s"}}));
  expect_released(run(scenario), "all-gone", milliseconds(8'050), milliseconds(8'100));
}

TEST(PodAnnotatedWhileHolding, AHoldMinOfAPodWithoutServicesProlongsTheHold) {
  auto scenario = pair_of_services();
  scenario.others = {};
  arrange(scenario, {annotate_pod({{"lastcall/hold-min", "4s"}})});
  while_holding(scenario, Millis(2'000), annotate_pod({{"lastcall/hold-min", "9s"}}));
  expect_released(run(scenario), "all-gone", milliseconds(9'050), milliseconds(9'100));
}

TEST(PodAnnotatedWhileHolding, AnnotationsThatAreRemovedFallBackToTheFile) {
  auto scenario = pair_of_services();
  arrange(scenario, {annotate_pod({{"lastcall/settle", "20s"}})});
  while_holding(scenario, Millis(5'000), annotate_pod({}));
  const auto outcome = run(scenario);
  expect_released(outcome, "all-gone", milliseconds(5'000), milliseconds(5'100));
  EXPECT_EQ(thresholds(outcome).settle.source, Source::kConfigFile);
}

// An agent that is started anew in the middle follows what the annotations say by then.
TEST(PodAnnotatedWhileHolding, AnAgentStartedAnewFollowsWhatIsSaidByThen) {
  auto scenario = pair_of_services();
  scenario.healed_at.reset();
  scenario.controller_delay = Millis(8'000);
  scenario.traits = {ServiceTraits{.settle = Millis(20'000)}};
  while_holding(scenario, Millis(2'000), annotate("svc-0", {{"lastcall/settle", "1s"}}));
  while_holding(scenario, Millis(2'500), annotate_pod({{"lastcall/settle", "2s"}}));
  scenario.restarts_at = {scenario.stop_at + Millis(3'000)};
  expect_released(run(scenario), "all-gone", milliseconds(10'000), milliseconds(10'100));
}

}  // namespace
}  // namespace lastcall::sim
