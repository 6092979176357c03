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
  server.store().put(Slice{.name = "mirror", .service = "web", .managed_by = "somebody"});
  server.store().remove(Resource::kServices, "web");
  loop.run_for(seconds(1));
  EXPECT_EQ(slice_count(), 1U);
}

}  // namespace
}  // namespace lastcall::fakes
