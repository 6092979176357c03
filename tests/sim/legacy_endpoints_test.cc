// Stops with consumers that still follow the legacy Endpoints, and what those objects can and
// cannot prove (FACTS 1.1).
#include <string>
#include <utility>

#include "tests/sim/stops.h"

namespace lastcall::sim {
namespace {

using core::GoneBy;
using fakes::FakeApiServer;

constexpr const char* kStale =
    "still listed after the EndpointSlices let go: its controller lags or is off";

// A pod with time enough for `blind`, and one Service. Slices and Endpoints both turn half a
// second after the stop.
Scenario with_endpoints(const ServiceTraits& traits = {}) {
  auto scenario = calm(traits);
  scenario.grace = seconds(60);
  scenario.legacy.emplace();
  return scenario;
}

// The same, with a controller that is switched off just before the stop.
Scenario with_stale_endpoints() {
  auto scenario = with_endpoints();
  scenario.legacy->off_at = scenario.stop_at - Millis(100);
  return scenario;
}

void while_holding(Scenario& scenario, Millis after, std::function<void(FakeApiServer&)> change) {
  scenario.interventions.emplace_back(scenario.stop_at + after, std::move(change));
}

void lose_sight_of(const std::string& resource, FakeApiServer& server) {
  server.forbid("list", resource);
  server.forbid("watch", resource);
  server.end_watches();
}

core::ConsumerState endpoints(const Outcome& outcome, const std::string& service = "svc-0") {
  return consumer(outcome, "endpoints", service);
}

TEST(LegacyEndpoints, AreNotLookedAtUnlessAskedFor) {
  auto scenario = with_endpoints();
  scenario.legacy->controller_delay = Millis(9'000);
  scenario.configure = [](config::Settings& settings) { settings.endpoints.value = false; };
  const auto outcome = run(scenario);
  expect_released(outcome, "all-gone", milliseconds(3'500), milliseconds(3'700));
  EXPECT_FALSE(has_logged(outcome, {"GET", "/endpoints?"}));
}

TEST(LegacyEndpoints, TheReleaseFollowsTheLaterOfBothControllers) {
  auto scenario = with_endpoints();
  scenario.legacy->controller_delay = Millis(4'000);
  const auto outcome = run(scenario);
  expect_released(outcome, "all-gone", milliseconds(7'000), milliseconds(7'200));
  EXPECT_EQ(endpoints(outcome).gone_by, GoneBy::kSettle);
  EXPECT_TRUE(has_logged(outcome, {"\"kind\":\"endpoints\"", "\"to\":\"blind\"", kStale}));

  std::swap(scenario.controller_delay, scenario.legacy->controller_delay);
  expect_released(run(scenario), "all-gone", milliseconds(7'000), milliseconds(7'200));
}

TEST(LegacyEndpoints, SettleAsLongAsTheSlicesOfTheirService) {
  auto scenario = with_endpoints(ServiceTraits{.settle = Millis(9'000)});
  const auto outcome = run(scenario);
  expect_released(outcome, "all-gone", milliseconds(9'500), milliseconds(9'700));
  EXPECT_EQ(endpoints(outcome).thresholds.settle.value, seconds(9));
}

// Nobody who follows them falls back: a pod that is the last may still have left its Endpoints.
TEST(LegacyEndpoints, HaveNoLastResort) {
  auto scenario = with_endpoints();
  scenario.others = {0};
  const auto outcome = run(scenario);
  expect_released(outcome, "deadline", milliseconds(48'000), milliseconds(50'000));
  EXPECT_EQ(endpoints(outcome).gone_by, GoneBy::kSettle);
  EXPECT_EQ(outcome.snapshot->still_there.size(), 1U);
}

// ---- What proves nothing ------------------------------------------------------------------

// Two others, whose addresses come before ours.
void fill(FakeApiServer& server) {
  for (const char* address : {"10.0.9.1", "10.0.9.2"}) {
    fakes::Pod pod{.name = std::string("first-") + address};
    pod.ips = {address};
    pod.labels = {{"svc-0", "yes"}};
    server.store().put(std::move(pod));
  }
}

TEST(LegacyEndpoints, TruncatedWithoutOurAddressTheyAreBlind) {
  auto scenario = with_endpoints();
  scenario.arrange = fill;
  scenario.legacy->endpoints_max = 2;
  const auto outcome = run(scenario);
  expect_released(outcome, "blind", milliseconds(25'050), milliseconds(25'200));
  EXPECT_EQ(endpoints(outcome).gone_by, GoneBy::kBlind);
  EXPECT_EQ(endpoints(outcome).detail, "truncated at 1000 addresses: absence proves nothing");
}

TEST(LegacyEndpoints, TruncatedAfterOurAddressHasLeftTheyAreBlindFromThen) {
  auto scenario = with_endpoints();
  scenario.others = {4};
  scenario.legacy->controller_delay = Millis(2'000);
  scenario.controller_delay = Millis(3'000);
  scenario.legacy->endpoints_max = 2;
  expect_released(run(scenario), "blind", milliseconds(27'000), milliseconds(27'200));
}

TEST(LegacyEndpoints, TruncatedNoMoreTheyAreSettledLikeAnyOther) {
  auto scenario = with_endpoints();
  scenario.arrange = fill;
  scenario.legacy->endpoints_max = 2;
  while_holding(scenario, Millis(6'000), [](FakeApiServer& server) {
    for (const char* pod : {"other-0-0", "other-0-1"}) server.finish_pod(pod);
  });
  const auto outcome = run(scenario);
  expect_released(outcome, "all-gone", milliseconds(9'500), milliseconds(9'700));
  EXPECT_EQ(endpoints(outcome).gone_by, GoneBy::kSettle);
}

TEST(LegacyEndpoints, LeftBehindByTheirControllerTheyAreBlindFromTheSlicesWithdrawalOn) {
  auto scenario = with_stale_endpoints();
  scenario.controller_delay = Millis(4'000);
  const auto outcome = run(scenario);
  expect_released(outcome, "blind", milliseconds(29'000), milliseconds(29'200));
  EXPECT_EQ(endpoints(outcome).detail, kStale);
  EXPECT_TRUE(
      has_logged(outcome, {"\"presence\"", "\"kind\":\"endpoints\"", "\"to\":\"routable\""}));
  EXPECT_TRUE(
      has_logged(outcome, {"\"presence\"", "\"kind\":\"endpoints\"", "\"to\":\"blind\"", kStale}));
  EXPECT_TRUE(
      has_logged(outcome, {"\"warn\"", "consumer-gone", "\"kind\":\"endpoints\"", "blind"}));
}

TEST(LegacyEndpoints, WhoseControllerComesBackAreSettledFromThen) {
  auto scenario = with_stale_endpoints();
  while_holding(scenario, Millis(10'000), [](FakeApiServer& server) {
    server.endpoints().resume();
    server.endpoints().catch_up();
  });
  expect_released(run(scenario), "all-gone", milliseconds(13'000), milliseconds(13'100));
}

TEST(LegacyEndpoints, OfAClusterWithoutTheirControllerCostNothing) {
  auto scenario = with_endpoints();
  scenario.arrange = [](FakeApiServer& server) { server.endpoints().pause(); };
  const auto outcome = run(scenario);
  expect_released(outcome, "all-gone", milliseconds(3'500), milliseconds(3'700));
  EXPECT_EQ(endpoints(outcome).detail, "there is no Endpoints object");
}

TEST(LegacyEndpoints, ThatPublishPodsThatAreNotReadyListThemToTheEnd) {
  const auto outcome = run(with_endpoints(ServiceTraits{.publish_not_ready = true}));
  expect_released(outcome, "blind", milliseconds(25'500), milliseconds(25'700));
  EXPECT_EQ(endpoints(outcome).gone_by, GoneBy::kBlind);
  EXPECT_EQ(endpoints(outcome).detail, "listed to the end, although not ready");
  EXPECT_EQ(consumer(outcome, "endpointslices", "svc-0").gone_by, GoneBy::kSettle);
}

TEST(LegacyEndpoints, OfAPodThatWasNeverReadyAreHeldUntilItLeavesThem) {
  auto scenario = with_endpoints();
  scenario.healed_at.reset();
  scenario.arrange = [](FakeApiServer& server) { server.set_ready("own", false); };
  scenario.legacy->controller_delay = Millis(4'000);
  expect_released(run(scenario), "all-gone", milliseconds(7'000), milliseconds(7'200));
}

TEST(LegacyEndpoints, ThatMayNotBeReadAreBlind) {
  auto scenario = with_endpoints();
  scenario.healed_at.reset();
  scenario.arrange = [](FakeApiServer& server) { lose_sight_of("endpoints", server); };
  const auto outcome = run(scenario);
  expect_released(outcome, "blind", milliseconds(25'050), milliseconds(25'200));
  EXPECT_EQ(consumer(outcome, "endpointslices", "svc-0").gone_by, GoneBy::kSettle);
  EXPECT_EQ(times_logged(outcome, {"endpoints-blind", "HTTP 403", "cannot list"}), 1U);
}

// ---- Sight that is lost and found ---------------------------------------------------------

TEST(LegacyEndpoints, ThatAreStaleStayBlindWhenTheSlicesAreLostFromSight) {
  auto scenario = with_stale_endpoints();
  scenario.healed_at.reset();
  while_holding(scenario, Millis(10'000),
                [](FakeApiServer& server) { lose_sight_of("endpointslices", server); });
  const auto outcome = run(scenario);
  expect_released(outcome, "blind", milliseconds(25'500), milliseconds(25'700));
  EXPECT_FALSE(has_logged(outcome, {"consumer-returned"}));
}

TEST(LegacyEndpoints, ThatAreStaleAreBlindAlthoughTheLastEndpointIsIgnored) {
  auto scenario = with_stale_endpoints();
  scenario.others = {0};
  scenario.ignore_last_resort = true;
  expect_released(run(scenario), "blind", milliseconds(25'500), milliseconds(25'700));
}

// Seen as routable, then not seen any more: what the slices say does not bring the sight back.
TEST(LegacyEndpoints, ThatAreLostFromSightAreBlindFromThen) {
  auto scenario = with_endpoints();
  scenario.healed_at.reset();
  scenario.controller_delay = Millis(22'000);
  scenario.legacy->controller_delay = Millis(100'000);
  while_holding(scenario, Millis(3'000),
                [](FakeApiServer& server) { lose_sight_of("endpoints", server); });
  while_holding(scenario, Millis(10'000), annotate("svc-0", {{"lastcall/quiet", "2s"}}));
  expect_released(run(scenario), "blind", milliseconds(28'000), milliseconds(28'500));
}

TEST(LegacyEndpoints, ThatHaveLetGoKeepTheirWithdrawalWhenSightIsLost) {
  auto scenario = with_endpoints(ServiceTraits{.settle = Millis(6'000)});
  scenario.healed_at.reset();
  while_holding(scenario, Millis(3'000),
                [](FakeApiServer& server) { lose_sight_of("endpoints", server); });
  expect_released(run(scenario), "all-gone", milliseconds(6'500), milliseconds(6'700));
}

// ---- One Service, and several -------------------------------------------------------------

TEST(LegacyEndpoints, OfOneServiceAreAskedForByName) {
  const auto outcome = run(with_endpoints());
  EXPECT_TRUE(has_logged(outcome, {"agent: GET", "/endpoints?", "metadata.name%3Dsvc-0"}));
}

TEST(LegacyEndpoints, OfSeveralServicesAreAskedForTogetherAndWaitedForEach) {
  auto scenario = with_endpoints();
  scenario.others = {2, 1, 1};
  scenario.traits = {ServiceTraits{}, ServiceTraits{}, ServiceTraits{.settle = Millis(8'000)}};
  const auto outcome = run(scenario);
  expect_released(outcome, "all-gone", milliseconds(8'500), milliseconds(8'700));
  EXPECT_EQ(outcome.snapshot->consumers.size(), 6U);
  EXPECT_FALSE(has_logged(outcome, {"agent: GET", "/endpoints?", "fieldSelector"}));
  EXPECT_EQ(times_logged(outcome, {"agent: GET", "/endpoints?limit"}), 1U);
}

TEST(LegacyEndpoints, OfAServiceCreatedWhileHoldingAreLookedAt) {
  for (const int services : {1, 2}) {
    auto scenario = with_endpoints();
    scenario.others.assign(static_cast<std::size_t>(services), 1);
    scenario.legacy->controller_delay = Millis(1'000);
    while_holding(scenario, Millis(2'000), [](FakeApiServer& server) {
      server.store().put(fakes::Service{.name = "late", .selector = {{"svc-0", "yes"}}});
    });
    const auto outcome = run(scenario);
    expect_released(outcome, "all-gone", milliseconds(5'000), milliseconds(5'700));
    EXPECT_EQ(endpoints(outcome, "late").gone_by, GoneBy::kSettle);
  }
}

TEST(LegacyEndpoints, OfAServiceDeletedWhileHoldingAreSettledFromThen) {
  auto scenario = with_endpoints();
  scenario.controller_delay = scenario.legacy->controller_delay = Millis(100'000);
  while_holding(scenario, Millis(4'000), [](FakeApiServer& server) {
    server.store().remove(fakes::Resource::kServices, "svc-0");
  });
  const auto outcome = run(scenario);
  expect_released(outcome, "all-gone", milliseconds(7'000), milliseconds(7'200));
  EXPECT_EQ(endpoints(outcome).detail, "the Service was deleted");
}

TEST(LegacyEndpoints, OfAServiceThatIsIgnoredAreNotWaitedFor) {
  auto scenario = with_endpoints();
  scenario.legacy->controller_delay = Millis(100'000);
  while_holding(scenario, Millis(4'000), annotate("svc-0", {{"lastcall/ignore", "true"}}));
  expect_released(run(scenario), "all-gone", milliseconds(4'000), milliseconds(4'100));
}

TEST(LegacyEndpoints, OfAServiceThatIsIgnoredForAWhileAreLookedAtAgain) {
  for (const int services : {1, 2}) {
    auto scenario = with_endpoints();
    scenario.others.assign(static_cast<std::size_t>(services), 1);
    scenario.configure = [](config::Settings& settings) { settings.hold_min.value = seconds(5); };
    while_holding(scenario, Millis(2'000), annotate("svc-0", {{"lastcall/ignore", "true"}}));
    while_holding(scenario, Millis(4'000), annotate("svc-0", {}));
    const auto outcome = run(scenario);
    expect_released(outcome, "all-gone", milliseconds(7'000), milliseconds(7'200));
    EXPECT_EQ(endpoints(outcome).gone_by, GoneBy::kSettle);
  }
}

TEST(LegacyEndpoints, AreFoundAgainByAnAgentStartedAnew) {
  auto scenario = with_endpoints();
  scenario.healed_at.reset();
  scenario.legacy->controller_delay = Millis(6'000);
  scenario.restarts_at = {scenario.stop_at + Millis(2'000)};
  expect_released(run(scenario), "all-gone", milliseconds(9'000), milliseconds(9'200));
}

}  // namespace
}  // namespace lastcall::sim
