// Every kind of Service: each row of FACTS 1.1 is a stop here.
#include <string>

#include "tests/sim/stops.h"

namespace lastcall::sim {
namespace {

using fakes::FakeApiServer;

constexpr const char* kPod = "own";

// Where the hold lasts for more than the withdrawals the checker knows of, it may not judge how
// long it lasts (S3); the test does.
Scenario by_the_clock(Scenario scenario = calm()) {
  scenario.healed_at.reset();
  return scenario;
}

TEST(ServiceKind, OrdinaryIsReleasedWhenItsEntriesTurnUnreadyThoughTheyStay) {
  const auto outcome = run(calm(ServiceTraits{}));
  expect_released(outcome, "all-gone", milliseconds(3'500), milliseconds(3'700));
  EXPECT_EQ(consumer(outcome, "endpointslices", "svc-0").gone_by, core::GoneBy::kSettle);
}

TEST(ServiceKind, DualStackWaitsForBothFamilies) {
  auto scenario = calm();
  scenario.dual_stack = true;
  scenario.write_gap = Millis(1'500);
  expect_released(run(scenario), "all-gone", milliseconds(5'000), milliseconds(9'000));
}

TEST(ServiceKind, HeadlessSettlesForDnsCachesUnlessASettleWasSaid) {
  auto scenario = by_the_clock(calm(ServiceTraits{.headless = true}));
  scenario.grace = seconds(60);
  scenario.configure = [](config::Settings& settings) { settings.settle = {}; };
  expect_released(run(scenario), "all-gone", milliseconds(30'500), milliseconds(30'700));
  scenario.traits.at(0).settle = Millis(2'000);
  expect_released(run(scenario), "all-gone", milliseconds(2'500), milliseconds(2'700));
}

TEST(ServiceKind, HeadlessHasNoLastResort) {
  auto scenario = calm(ServiceTraits{.headless = true});
  scenario.others = {0};
  expect_released(run(scenario), "all-gone", milliseconds(3'500), milliseconds(3'700));
}

TEST(ServiceKind, LocalPolicyHoldsWhileNobodyElseIsReadyOnTheNode) {
  auto scenario = calm(ServiceTraits{.local_only = true});
  scenario.other_node = true;
  const auto outcome = run(scenario);
  expect_released(outcome, "deadline", seconds(18), seconds(20));
  EXPECT_EQ(consumer(outcome, "endpointslices", "svc-0").presence, core::Presence::kLastResort);
  scenario.replacement_at = scenario.stop_at + Millis(6'000);
  expect_released(run(scenario), "all-gone", milliseconds(9'500), milliseconds(9'700));
}

TEST(ServiceKind, PublishNotReadyIsTerminatingPlusAFixedDelay) {
  auto scenario = calm(ServiceTraits{.publish_not_ready = true});
  scenario.grace = seconds(60);
  expect_released(run(scenario), "all-gone", milliseconds(25'500), milliseconds(25'700));
}

TEST(ServiceKind, ManyEndpointsInManySlices) {
  for (const std::size_t endpoints_max : {std::size_t{100}, std::size_t{1000}}) {
    auto scenario = calm(ServiceTraits{});
    scenario.others = {1'100};
    scenario.endpoints_max = endpoints_max;
    expect_released(run(scenario), "all-gone", milliseconds(3'500), milliseconds(3'700));
  }
}

TEST(ServiceKind, APodInTenServicesWaitsForTheSlowestOfThem) {
  auto scenario = calm();
  scenario.others.assign(10, 1);
  scenario.traits.assign(10, ServiceTraits{});
  scenario.traits.at(6).settle = Millis(7'000);
  const auto outcome = run(scenario);
  expect_released(outcome, "all-gone", milliseconds(7'500), milliseconds(7'700));
  EXPECT_EQ(outcome.snapshot->consumers.size(), 10U);
}

TEST(ServiceKind, APodInNoneIsReleasedAtOnceAndNotAfterBlind) {
  auto scenario = calm();
  scenario.others = {};
  expect_released(run(scenario), "all-gone", milliseconds(50), milliseconds(100));
}

TEST(ServiceKind, APodInNoneKeepsHoldMin) {
  auto scenario = by_the_clock();
  scenario.others = {};
  scenario.configure = [](config::Settings& settings) { settings.hold_min.value = seconds(4); };
  expect_released(run(scenario), "all-gone", milliseconds(4'050), milliseconds(4'100));
}

TEST(ServiceKind, APodThatWasNeverReadyIsHeldUntilItShowsAsTerminating) {
  auto scenario = by_the_clock();
  scenario.arrange = [](FakeApiServer& server) { server.set_ready(kPod, false); };
  scenario.controller_delay = Millis(4'000);
  expect_released(run(scenario), "all-gone", seconds(7), milliseconds(7'100));
}

TEST(ServiceKind, ReadinessThatFlipsWhileHoldingIsNoWithdrawal) {
  auto scenario = by_the_clock();
  scenario.controller_delay = Millis(100);
  // The controller has not seen the deletion yet when the readiness goes.
  scenario.arrange = [](FakeApiServer& server) { server.slices().pause(); };
  scenario.interventions = {
      {scenario.stop_at - Millis(300), [](FakeApiServer& server) { server.slices().resume(); }},
      {scenario.stop_at - Millis(250),
       [](FakeApiServer& server) { server.set_ready(kPod, false); }},
      {scenario.stop_at - Millis(50), [](FakeApiServer& server) { server.slices().pause(); }},
      {scenario.stop_at + Millis(5'000), [](FakeApiServer& server) { server.slices().resume(); }},
      {scenario.stop_at + Millis(6'000),
       [](FakeApiServer& server) { server.set_ready(kPod, true); }},
  };
  const auto outcome = run(scenario);
  expect_released(outcome, "all-gone", milliseconds(8'000), milliseconds(8'300));
  EXPECT_TRUE(has_logged(outcome, {"not ready, but not yet terminating"}));
}

// Pods that resolve a named port to another number stand in other slices than we do.
TEST(ServiceKind, NamedTargetPortsThatDifferPerPod) {
  auto scenario = by_the_clock();
  scenario.others = {2};
  scenario.arrange = [](FakeApiServer& server) {
    fakes::Service service{.name = "named", .selector = {{"svc-0", "yes"}}};
    service.ports = {{.name = "http", .port = 80, .target_name = "web"},
                     {.name = "admin", .port = 81, .target = 9'901}};
    server.store().put(std::move(service));
    for (const char* name : {kPod, "other-0-0", "other-0-1"}) {
      const std::uint16_t number = std::string_view(name) == kPod ? 8'081 : 8'080;
      server.update_pod(name, [number](fakes::Pod& pod) { pod.named_ports["web"] = number; });
    }
  };
  scenario.controller_delay = Millis(2'000);
  const auto outcome = run(scenario);
  expect_released(outcome, "all-gone", milliseconds(5'000), milliseconds(5'200));
  EXPECT_EQ(consumer(outcome, "endpointslices", "named").gone_by, core::GoneBy::kSettle);
}

TEST(ServiceKind, HostNetworkPodsThatShareAnAddressAreToldApart) {
  auto scenario = calm();
  scenario.arrange = [](FakeApiServer& server) {
    for (const char* name : {kPod, "other-0-0"}) {
      const std::uint16_t number = std::string_view(name) == kPod ? 8'080 : 8'090;
      server.update_pod(name, [number](fakes::Pod& pod) {
        pod.host_network = true;
        pod.ips = {"192.0.2.7"};
        pod.ports = {number};
      });
    }
  };
  const auto outcome = run(scenario);
  expect_released(outcome, "all-gone", milliseconds(3'500), milliseconds(3'700));
}

// The entry is taken out of its slice and put into another one at every instant around the LIST
// and the WATCH that begin the hold: none of them may be taken for a withdrawal.
TEST(ServiceKind, AnEntryThatMovesBetweenListAndWatchHasNotLeft) {
  for (int at = 0; at < 40; ++at) {
    SCOPED_TRACE(at);
    auto scenario = calm();
    scenario.others = {2};
    scenario.controller_delay = Millis(9'000);
    scenario.move_gap = Millis(30);
    scenario.faults.latency_least = scenario.faults.latency_most = std::chrono::milliseconds(4);
    scenario.moves_at = {scenario.stop_at + scenario.hook_delay + Millis(at)};
    scenario.healed_at.reset();
    const auto outcome = run(scenario);
    expect_released(outcome, "all-gone", seconds(12), milliseconds(12'400));
    if (HasFailure()) return;
  }
}

// ---- Services that change while holding ---------------------------------------------------

TEST(ServiceChange, OneCreatedWhileHoldingCounts) {
  auto scenario = by_the_clock();
  scenario.controller_delay = Millis(2'000);
  scenario.interventions = {
      {scenario.stop_at + Millis(1'000), [](FakeApiServer& server) {
         server.store().put(fakes::Service{.name = "late", .selector = {{"svc-0", "yes"}}});
       }}};
  const auto outcome = run(scenario);
  expect_released(outcome, "all-gone", milliseconds(6'000), milliseconds(6'300));
  EXPECT_EQ(consumer(outcome, "endpointslices", "late").gone_by, core::GoneBy::kSettle);
}

TEST(ServiceChange, OneDeletedWhileHoldingSettlesFromThen) {
  auto scenario = calm();
  scenario.controller_delay = Millis(100'000);
  scenario.grace = seconds(60);
  scenario.others = {2};
  scenario.interventions = {{scenario.stop_at + Millis(4'000), [](FakeApiServer& server) {
                               server.store().remove(fakes::Resource::kServices, "svc-0");
                             }}};
  const auto outcome = run(scenario);
  expect_released(outcome, "all-gone", milliseconds(7'000), milliseconds(7'200));
  EXPECT_EQ(consumer(outcome, "endpointslices", "svc-0").detail, "the Service was deleted");
}

// Its slices go on routing to us until the controller has followed.
TEST(ServiceChange, OneReLabelledWhileHoldingIsWaitedForInItsSlices) {
  auto scenario = calm();
  scenario.others = {2};
  scenario.controller_delay = Millis(4'000);
  scenario.interventions = {
      {scenario.stop_at + Millis(1'000), [](FakeApiServer& server) {
         server.store().put(fakes::Service{.name = "svc-0", .selector = {{"other", "yes"}}});
       }}};
  const auto outcome = run(scenario);
  expect_released(outcome, "all-gone", seconds(7), milliseconds(8'300));
}

TEST(ServiceChange, APodTakenOutOfItsServiceByALabelIsWaitedForInItsSlices) {
  auto scenario = calm();
  scenario.others = {2};
  scenario.controller_delay = Millis(4'000);
  scenario.interventions = {{scenario.stop_at + Millis(1'000), [](FakeApiServer& server) {
                               server.update_pod(kPod, [](fakes::Pod& pod) { pod.labels.clear(); });
                             }}};
  expect_released(run(scenario), "all-gone", seconds(7), milliseconds(8'300));
}

TEST(ServiceChange, OneThatNoLongerSelectsUsAtTheHoldIsNoConsumer) {
  auto scenario = calm();
  scenario.interventions = {
      {scenario.stop_at - Millis(3'000), [](FakeApiServer& server) {
         server.store().put(fakes::Service{.name = "svc-1", .selector = {{"other", "yes"}}});
       }}};
  expect_released(run(scenario), "all-gone", milliseconds(3'500), milliseconds(3'700));
}

// ---- Slices that do not follow the pod ----------------------------------------------------

fakes::Slice unmanaged_slice(const std::string& service) {
  fakes::Slice slice{.name = service + "-by-hand", .service = service, .managed_by = "by-hand"};
  slice.endpoints = {{.pod = kPod, .address = "10.1.0.1", .node = "node-a"}};
  return slice;
}

Scenario with_unmanaged_slice() {
  auto scenario = by_the_clock();
  scenario.grace = seconds(60);
  scenario.arrange = [](FakeApiServer& server) {
    server.store().put(fakes::Service{.name = "legacy"});
    server.store().put(unmanaged_slice("legacy"));
  };
  return scenario;
}

TEST(UnmanagedSlices, AServiceWithoutSelectorIsCappedByBlindAndSaysSo) {
  const auto outcome = run(with_unmanaged_slice());
  expect_released(outcome, "blind", seconds(25), milliseconds(25'200));
  const auto state = consumer(outcome, "unmanaged-endpointslices", "legacy");
  EXPECT_EQ(state.gone_by, core::GoneBy::kBlind);
  EXPECT_EQ(state.detail,
            "listed in slice legacy-by-hand of by-hand, which does not follow the pod");
}

TEST(UnmanagedSlices, OneThatLetsGoIsSettledLikeAnyOther) {
  auto scenario = with_unmanaged_slice();
  scenario.interventions = {{scenario.stop_at + Millis(5'000), [](FakeApiServer& server) {
                               server.store().remove(fakes::Resource::kSlices, "legacy-by-hand");
                             }}};
  const auto outcome = run(scenario);
  expect_released(outcome, "all-gone", milliseconds(8'000), milliseconds(8'300));
  EXPECT_EQ(consumer(outcome, "unmanaged-endpointslices", "legacy").gone_by, core::GoneBy::kSettle);
}

TEST(UnmanagedSlices, TheirServiceMayBeIgnored) {
  auto scenario = with_unmanaged_slice();
  scenario.arrange = [](FakeApiServer& server) {
    server.store().put(
        fakes::Service{.name = "legacy", .annotations = {{"lastcall/ignore", "true"}}});
    server.store().put(unmanaged_slice("legacy"));
  };
  const auto outcome = run(scenario);
  expect_released(outcome, "all-gone", milliseconds(3'500), milliseconds(3'700));
  EXPECT_TRUE(has_logged(outcome, {"service-ignored", "legacy"}));
}

TEST(UnmanagedSlices, UnderAServiceWithASelectorTheyAreAConsumerOfTheirOwn) {
  auto scenario = by_the_clock();
  scenario.grace = seconds(60);
  scenario.arrange = [](FakeApiServer& server) { server.store().put(unmanaged_slice("svc-0")); };
  const auto outcome = run(scenario);
  expect_released(outcome, "blind", seconds(25), milliseconds(25'200));
  EXPECT_EQ(consumer(outcome, "endpointslices", "svc-0").gone_by, core::GoneBy::kSettle);
}

}  // namespace
}  // namespace lastcall::sim
