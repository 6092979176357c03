// An API server that cannot be reached, or answers what no API server answers. Each ends in a
// bounded hold with a reason.
#include <string>
#include <utility>

#include "tests/sim/stops.h"

namespace lastcall::sim {
namespace {

// A pod with time enough for `blind`, and a hook from inside it.
Scenario patient() {
  auto scenario = calm();
  scenario.healed_at.reset();
  scenario.grace = seconds(60);
  return scenario;
}

// The same, with every request answered like this from just before the stop, or later.
Scenario answered_with(const HostileAnswer& answer, Millis after_stop = Millis(-100)) {
  auto scenario = patient();
  scenario.impostor_from = scenario.stop_at + after_stop;
  scenario.impostor = [answer](const std::string&) { return std::optional(answer); };
  return scenario;
}

// The same, with only LIST and WATCH of slices answered like this.
Scenario slices_answered_with(const HostileAnswer& answer) {
  auto scenario = answered_with(answer);
  scenario.impostor = [answer](const std::string& target) {
    return target.find("/endpointslices") == std::string::npos ? std::nullopt
                                                               : std::optional(answer);
  };
  return scenario;
}

void expect_blind_hold(const Outcome& outcome) {
  expect_released(outcome, "blind", seconds(25), milliseconds(26'200));
}

TEST(Unreachable, AtTheStartOnly) {
  auto scenario = patient();
  scenario.down_from = Millis(0);
  scenario.down_until = Millis(3'000);
  scenario.stop_at = Millis(12'000);
  const auto outcome = run(scenario);
  expect_released(outcome, "all-gone", milliseconds(3'500), milliseconds(3'700));
  EXPECT_TRUE(has_logged(outcome, {"own-pod-unreadable", "connection refused"}));
}

TEST(Unreachable, AtTheHoldForAWhile) {
  auto scenario = patient();
  scenario.down_from = scenario.stop_at - Millis(100);
  scenario.down_until = scenario.stop_at + Millis(6'000);
  const auto outcome = run(scenario);
  expect_released(outcome, "all-gone", milliseconds(9'000), milliseconds(15'000));
  EXPECT_EQ(outcome.snapshot->trigger, core::Trigger::kDeletion);
}

TEST(Unreachable, FromTheStartToTheEnd) {
  auto scenario = patient();
  scenario.down_from = Millis(0);
  const auto outcome = run(scenario);
  expect_blind_hold(outcome);
  EXPECT_TRUE(has_logged(outcome, {"consumer-gone", "services", "blind"}));
}

TEST(Unreachable, ForHoursAsksOnceOrTwiceAMinuteAndStillHears) {
  auto scenario = patient();
  scenario.down_from = Millis(0);
  scenario.stop_at = std::chrono::hours(2);
  scenario.down_until = scenario.stop_at - Millis(1'000);
  const auto outcome = run(scenario);
  expect_released(outcome, "all-gone", milliseconds(3'500), milliseconds(3'700));
  EXPECT_LE(outcome.requests, 2 * 120 + 60);
}

TEST(Refused, ForHoursAsksOnceOrTwiceAMinute) {
  auto scenario = patient();
  scenario.services_forbidden = scenario.slices_forbidden = true;
  scenario.stop_at = std::chrono::hours(2);
  const auto outcome = run(scenario);
  expect_blind_hold(outcome);
  EXPECT_LE(outcome.requests, 2 * 120 + 80);
}

TEST(SlowServer, AnswersAfterThirtySeconds) {
  auto scenario = patient();
  scenario.faults.latency_least = scenario.faults.latency_most = seconds(30);
  scenario.stop_at = Millis(200'000);
  // Known from the start: its Services and the grace period.
  const auto outcome = run(scenario);
  EXPECT_EQ(trouble(outcome), "");
  ASSERT_TRUE(outcome.released);
  EXPECT_GE(*outcome.released, seconds(25));
  EXPECT_LE(*outcome.released, seconds(60));
  EXPECT_TRUE(has_logged(outcome, {"timed out"}));
}

TEST(Impostor, AnswersWithAPageInHtml) {
  const auto outcome =
      run(answered_with({.content_type = "text/html", .body = "<html>Please log in</html>"}));
  expect_blind_hold(outcome);
  EXPECT_TRUE(has_logged(outcome, {"own-pod-unreadable", "text/html"}));
}

TEST(Impostor, AnswersWithHtmlCalledJson) {
  expect_blind_hold(run(answered_with({.body = "<html>Please log in</html>"})));
}

TEST(Impostor, AnswersWithTheWrongKindOfJson) {
  for (const char* body : {"{}", "[]", "null", "17", "\"text\"", R"({"kind":"Pod"})",
                           R"({"kind":"PodList","items":[]})", R"({"metadata":{"name":7}})"}) {
    SCOPED_TRACE(body);
    expect_blind_hold(run(answered_with({.body = body})));
  }
}

TEST(Impostor, AnswersWithNothing) { expect_blind_hold(run(answered_with({}))); }

TEST(Impostor, AnswersWithProtobuf) {
  expect_blind_hold(run(answered_with({.content_type = "application/vnd.kubernetes.protobuf",
                                       .body = std::string("k8s\0\n\0", 6)})));
}

TEST(Impostor, AnswersWithAnEndlessLine) {
  const auto outcome = run(answered_with({.again = std::string(4'096, 'x')}));
  expect_blind_hold(outcome);
  EXPECT_LE(outcome.requests, 80);
}

TEST(Impostor, ListsSlicesWithoutEnd) {
  const std::string item =
      R"({"metadata":{"name":"s","labels":{"kubernetes.io/service-name":"x"}},)"
      R"("addressType":"IPv4","endpoints":[],"ports":[]},)";
  std::string many;
  while (many.size() < 4'096) many += item;
  const auto outcome = run(slices_answered_with(
      {.body = R"({"kind":"EndpointSliceList","metadata":{"resourceVersion":"5"},"items":[)",
       .again = many}));
  expect_blind_hold(outcome);
  EXPECT_LE(outcome.requests, 80);
}

TEST(Impostor, EndsAListInTheMiddle) {
  const auto outcome = run(slices_answered_with(
      {.body = R"({"kind":"EndpointSliceList","metadata":{"resourceVersion":"5"},"items":[{"me)"}));
  expect_blind_hold(outcome);
  EXPECT_TRUE(has_logged(outcome, {"endpointslices-blind", "list endpointslices"}));
}

TEST(Impostor, RefusesEverythingForEver) {
  for (const int status : {400, 401, 403, 404, 429, 500, 503}) {
    SCOPED_TRACE(status);
    const auto outcome = run(slices_answered_with({.status = status, .body = "no"}));
    expect_blind_hold(outcome);
    EXPECT_LE(outcome.requests, 80);
  }
}

TEST(Token, IsLostAndSaysSo) {
  auto scenario = patient();
  scenario.token_lost_at = scenario.stop_at - Millis(100);
  const auto outcome = run(scenario);
  expect_blind_hold(outcome);
  EXPECT_TRUE(has_logged(outcome, {"own-pod-unreadable", "token"}));
}

TEST(Token, IsRotatedInTheMiddleOfAHold) {
  auto scenario = patient();
  scenario.controller_delay = Millis(6'000);
  scenario.rotations_at = {scenario.stop_at + Millis(2'000)};
  scenario.closures_at = {scenario.stop_at + Millis(3'000)};
  expect_released(run(scenario), "all-gone", milliseconds(9'000), milliseconds(9'200));
}

TEST(Clock, JumpsByDaysWhileHolding) {
  auto scenario = patient();
  scenario.controller_delay = Millis(6'000);
  for (int at = -2'000; at <= 8'000; at += 500) {
    scenario.wall_jumps_at.push_back(scenario.stop_at + Millis(at));
  }
  const auto outcome = run(scenario);
  expect_released(outcome, "all-gone", milliseconds(9'000), milliseconds(9'200));
  EXPECT_TRUE(outcome.snapshot->deadline_proven);
}

TEST(Clock, OfThisMachineIsDaysOffAndTheDeadlineHolds) {
  auto scenario = patient();
  scenario.controller_delay = Millis(100'000);
  scenario.wall_jumps_at = {Millis(100)};
  expect_released(run(scenario), "deadline", seconds(48), seconds(50));
}

}  // namespace
}  // namespace lastcall::sim
