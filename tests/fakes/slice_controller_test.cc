#include "tests/fakes/slice_controller.h"

#include <algorithm>
#include <chrono>

#include "gtest/gtest.h"

#include "tests/fakes/fake_api_server.h"
#include "tests/fakes/sim_loop.h"

namespace lastcall::fakes {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class SliceControllerTest : public testing::Test {
 protected:
  SliceControllerTest() {
    server.store().put(Service{.name = "web", .selector = {{"app", "web"}}});
    add_pod("one", "10.1.0.1");
    add_pod("two", "10.1.0.2");
    server.slices().catch_up();
  }

  void add_pod(const std::string& name, const std::string& ip) {
    server.store().put(Pod{.name = name, .labels = {{"app", "web"}}, .ips = {ip}});
  }
  Endpoint endpoint(const std::string& pod) {
    const auto all = server.slices().endpoints("web");
    const auto it =
        std::find_if(all.begin(), all.end(), [&](const Endpoint& e) { return e.pod == pod; });
    return it == all.end() ? Endpoint{} : *it;
  }
  // The slices of "web" that list the pod.
  std::vector<Slice> slices_with(const std::string& pod) {
    std::vector<Slice> found;
    for (const auto& [name, object] : server.store().all(Resource::kSlices)) {
      const auto& slice = std::get<Slice>(object->spec());
      const auto& all = slice.endpoints;
      if (std::any_of(all.begin(), all.end(), [&](const Endpoint& e) { return e.pod == pod; })) {
        found.push_back(slice);
      }
    }
    return found;
  }
  void name_port(const std::string& pod, std::uint16_t port) {
    server.update_pod(pod, [port](Pod& changed) { changed.named_ports["http"] = port; });
  }
  std::size_t slice_count() { return server.store().all(Resource::kSlices).size(); }

  SimLoop loop{1};
  FakeApiServer server{loop};
};

TEST_F(SliceControllerTest, ListsReadyPodsAsReady) {
  EXPECT_EQ(endpoint("one").address, "10.1.0.1");
  EXPECT_TRUE(endpoint("one").ready);
  EXPECT_FALSE(endpoint("one").terminating);
}

TEST_F(SliceControllerTest, ADeletedPodStaysWithReadyFalseUntilItsObjectGoes) {
  server.slices().set_delay(seconds(2));
  server.delete_pod("one");
  loop.run_for(milliseconds(1'999));
  EXPECT_TRUE(endpoint("one").ready);
  loop.run_for(milliseconds(1));
  EXPECT_FALSE(endpoint("one").ready);
  EXPECT_TRUE(endpoint("one").serving);
  EXPECT_TRUE(endpoint("one").terminating);
  server.finish_pod("one");
  loop.run_for(seconds(2));
  EXPECT_EQ(endpoint("one"), Endpoint{});
  EXPECT_EQ(server.slices().endpoints("web").size(), 1U);
}

TEST_F(SliceControllerTest, PublishNotReadyAddressesStaysReady) {
  server.store().put(
      Service{.name = "web", .selector = {{"app", "web"}}, .publish_not_ready = true});
  server.delete_pod("one");
  loop.run_for(seconds(1));
  EXPECT_TRUE(endpoint("one").ready);
  EXPECT_TRUE(endpoint("one").terminating);
}

TEST_F(SliceControllerTest, AFailedPodLeavesAtOnce) {
  server.update_pod("one", [](Pod& pod) { pod.phase = "Failed"; });
  loop.run_for(seconds(1));
  EXPECT_EQ(endpoint("one"), Endpoint{});
}

TEST_F(SliceControllerTest, OverflowAndFamiliesMakeMoreSlices) {
  server.slices().set_endpoints_max(2);
  add_pod("three", "10.1.0.3");
  server.store().put(
      Pod{.name = "four", .labels = {{"app", "web"}}, .ips = {"10.1.0.4", "fd00::4"}});
  loop.run_for(seconds(1));
  EXPECT_EQ(slice_count(), 3U);
  EXPECT_EQ(server.slices().endpoints("web").size(), 5U);
}

TEST_F(SliceControllerTest, ASliceCanHoldAThousand) {
  server.slices().set_endpoints_max(1000);
  for (int i = 0; i < 1000; ++i) {
    add_pod("p" + std::to_string(i),
            "10.2." + std::to_string(i / 250) + "." + std::to_string(i % 250));
  }
  loop.run_for(seconds(1));
  EXPECT_EQ(slice_count(), 2U);
  EXPECT_EQ(server.slices().endpoints("web").size(), 1002U);
}

TEST_F(SliceControllerTest, PodsThatServeAtDifferentPortsStandInDifferentSlices) {
  name_port("one", 8001);
  name_port("two", 8002);
  add_pod("three", "10.1.0.3");
  server.store().put(Service{
      .name = "web",
      .selector = {{"app", "web"}},
      .ports = {{.name = "h", .target_name = "http"}, {.name = "m", .port = 9, .target = 9000}}});
  loop.run_for(seconds(1));
  EXPECT_EQ(slice_count(), 3U);
  using Ports = std::vector<EndpointPort>;
  EXPECT_EQ(slices_with("one").at(0).ports, (Ports{{"h", 8001}, {"m", 9000}}));
  EXPECT_EQ(slices_with("two").at(0).ports, (Ports{{"h", 8002}, {"m", 9000}}));
  EXPECT_EQ(slices_with("three").at(0).ports, (Ports{{"m", 9000}}));
}

TEST_F(SliceControllerTest, APodWithoutAnyOfThePortsIsListedWithoutPorts) {
  server.store().put(
      Service{.name = "web", .selector = {{"app", "web"}}, .ports = {{.target_name = "http"}}});
  loop.run_for(seconds(1));
  EXPECT_TRUE(slices_with("one").at(0).ports.empty());
}

TEST_F(SliceControllerTest, AnotherPortOfTheServiceIsOneUpdateOfTheSlice) {
  const std::string name = slices_with("one").at(0).name;
  const auto before = server.store().version();
  server.store().put(
      Service{.name = "web", .selector = {{"app", "web"}}, .ports = {{.target = 9090}}});
  loop.run_for(seconds(1));
  EXPECT_EQ(server.store().version(), before + 2);
  EXPECT_EQ(slices_with("one").at(0).name, name);
  EXPECT_EQ(slices_with("two").at(0).ports, (std::vector<EndpointPort>{{"", 9090}}));
}

TEST_F(SliceControllerTest, APodWhosePortChangesIsNeverMissing) {
  name_port("one", 8001);
  name_port("two", 8001);
  server.store().put(
      Service{.name = "web", .selector = {{"app", "web"}}, .ports = {{.target_name = "http"}}});
  loop.run_for(seconds(1));
  int changes = 0;
  server.store().on_change([&](const Change& change) {
    if (resource_of(change.object->spec()) != Resource::kSlices) return;
    ++changes;
    EXPECT_FALSE(slices_with("one").empty());
    EXPECT_FALSE(slices_with("two").empty());
  });
  name_port("one", 8002);
  loop.run_for(seconds(1));
  name_port("two", 8002);
  loop.run_for(seconds(1));
  EXPECT_GE(changes, 3);
  EXPECT_EQ(slice_count(), 1U);
  EXPECT_EQ(server.slices().endpoints("web").size(), 2U);
}

TEST_F(SliceControllerTest, PodsOnTheHostsNetworkShareAnAddress) {
  for (const std::string name : {"host-a", "host-b"}) {
    server.store().put(
        Pod{.name = name, .labels = {{"app", "web"}}, .ips = {"10.0.0.1"}, .host_network = true});
  }
  loop.run_for(seconds(1));
  EXPECT_EQ(server.slices().endpoints("web").size(), 4U);
  EXPECT_EQ(endpoint("host-a").address, endpoint("host-b").address);
  EXPECT_NE(endpoint("host-a").uid, endpoint("host-b").uid);
  server.finish_pod("host-a");
  loop.run_for(seconds(1));
  EXPECT_EQ(endpoint("host-b").address, "10.0.0.1");
}

TEST_F(SliceControllerTest, ADeselectedPodLeaves) {
  server.update_pod("one", [](Pod& pod) { pod.labels = {{"app", "other"}}; });
  loop.run_for(seconds(1));
  EXPECT_EQ(endpoint("one"), Endpoint{});
  server.update_pod("one", [](Pod& pod) { pod.labels = {{"app", "web"}}; });
  loop.run_for(seconds(1));
  EXPECT_TRUE(endpoint("one").ready);
}

TEST_F(SliceControllerTest, AnotherSelectorSelectsOthers) {
  server.store().put(Pod{.name = "three", .labels = {{"app", "x"}}, .ips = {"10.1.0.3"}});
  server.store().put(Service{.name = "web", .selector = {{"app", "x"}}});
  loop.run_for(seconds(1));
  EXPECT_EQ(server.slices().endpoints("web").size(), 1U);
  EXPECT_TRUE(endpoint("three").ready);
}

TEST_F(SliceControllerTest, AServiceWithoutASelectorGetsNoSlicesAndKeepsThoseItHas) {
  server.store().put(Service{.name = "manual"});
  server.store().put(Service{.name = "web"});
  server.delete_pod("one");
  loop.run_for(seconds(1));
  EXPECT_EQ(slice_count(), 1U);
  EXPECT_TRUE(endpoint("one").ready);
}

TEST_F(SliceControllerTest, AMoveLeavesAGap) {
  server.slices().move_endpoint("web", "one", milliseconds(20));
  EXPECT_EQ(endpoint("one"), Endpoint{});
  EXPECT_EQ(server.slices().in_transit("web").size(), 1U);
  loop.run_for(milliseconds(20));
  EXPECT_TRUE(endpoint("one").ready);
  EXPECT_TRUE(server.slices().in_transit("web").empty());
  EXPECT_EQ(slice_count(), 2U);
}

TEST_F(SliceControllerTest, ADuplicateTurnsInBothPlacesOneAfterTheOther) {
  server.slices().duplicate_endpoint("web", "one");
  server.slices().set_write_gap(milliseconds(100));
  server.delete_pod("one");
  loop.run_for(milliseconds(50));
  const auto ready = [this] {
    const auto all = server.slices().endpoints("web");
    return std::count_if(all.begin(), all.end(),
                         [](const Endpoint& e) { return e.pod == "one" && e.ready; });
  };
  EXPECT_EQ(ready(), 1);
  loop.run_for(milliseconds(100));
  EXPECT_EQ(ready(), 0);
}

TEST_F(SliceControllerTest, WritesNothingWhilePaused) {
  server.slices().pause();
  server.delete_pod("one");
  loop.run_for(seconds(60));
  EXPECT_TRUE(endpoint("one").ready);
  server.slices().resume();
  loop.run_for(seconds(1));
  EXPECT_FALSE(endpoint("one").ready);
}

TEST_F(SliceControllerTest, LeavesTheSlicesOfOthersAlone) {
  const std::string mirror = "endpointslicemirroring-controller.k8s.io";
  for (const std::string& manager : {std::string(), std::string("somebody"), mirror}) {
    server.store().put(Slice{.name = "made-by-" + manager,
                             .service = "web",
                             .managed_by = manager,
                             .endpoints = {{.address = "10.9.0.1"}}});
  }
  server.finish_pod("one");
  server.finish_pod("two");
  loop.run_for(seconds(1));
  EXPECT_EQ(slice_count(), 4U);
  EXPECT_EQ(slices_with("").size(), 3U);
  server.store().remove(Resource::kServices, "web");
  loop.run_for(seconds(1));
  EXPECT_EQ(slice_count(), 3U);
}

TEST_F(SliceControllerTest, SlicesOfAServiceThatWentMeanwhileGoOnResume) {
  server.slices().pause();
  server.store().remove(Resource::kServices, "web");
  loop.run_for(seconds(1));
  EXPECT_EQ(slice_count(), 1U);
  server.slices().resume();
  loop.run_for(seconds(1));
  EXPECT_EQ(slice_count(), 0U);
}

}  // namespace
}  // namespace lastcall::fakes
