#include "tests/fakes/endpoints_controller.h"

#include <chrono>

#include "gtest/gtest.h"

#include "tests/fakes/fake_api_server.h"
#include "tests/fakes/sim_loop.h"

namespace lastcall::fakes {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Names = std::vector<std::string>;

class EndpointsControllerTest : public testing::Test {
 protected:
  EndpointsControllerTest() {
    server.store().put(Service{.name = "web", .selector = {{"app", "web"}}});
    add_pod("one", "10.1.0.1");
    add_pod("two", "10.1.0.2");
    server.endpoints().resume();
    server.endpoints().catch_up();
  }

  void add_pod(const std::string& name, const std::string& ip, std::uint16_t admin = 0) {
    Pod pod{.name = name, .labels = {{"app", "web"}}, .ips = {ip}};
    if (admin != 0) pod.named_ports["admin"] = admin;
    server.store().put(std::move(pod));
  }
  void settle() { loop.run_for(seconds(1)); }
  Endpoints endpoints() {
    const auto* found = server.store().get<Endpoints>(Resource::kEndpoints, "web");
    return found == nullptr ? Endpoints{} : *found;
  }
  static Names pods(const std::vector<SubsetAddress>& list) {
    Names names;
    for (const auto& address : list) names.push_back(address.pod);
    return names;
  }
  // Of all subsets.
  Names ready() { return listed(&Subset::ready); }
  Names not_ready() { return listed(&Subset::not_ready); }
  Names listed(std::vector<SubsetAddress> Subset::*list) {
    Names all;
    const auto subsets = endpoints().subsets;
    for (const auto& subset : subsets) {
      for (const auto& name : pods(subset.*list)) all.push_back(name);
    }
    return all;
  }

  SimLoop loop{1};
  FakeApiServer server{loop};
};

TEST_F(EndpointsControllerTest, WritesNothingUntilItIsSwitchedOn) {
  FakeApiServer off(loop);
  off.store().put(Service{.name = "web", .selector = {{"app", "web"}}});
  off.store().put(Pod{.name = "one", .labels = {{"app", "web"}}, .ips = {"10.1.0.1"}});
  settle();
  EXPECT_TRUE(off.store().all(Resource::kEndpoints).empty());
}

TEST_F(EndpointsControllerTest, ListsReadyPodsByTheirFirstAddress) {
  server.store().put(
      Pod{.name = "three", .labels = {{"app", "web"}}, .ips = {"10.1.0.3", "fd00::3"}});
  settle();
  EXPECT_EQ(ready(), (Names{"one", "two", "three"}));
  const Subset subset = endpoints().subsets.at(0);
  EXPECT_EQ(subset.ready.at(2).ip, "10.1.0.3");
  EXPECT_EQ(subset.ready.at(0).node, "node-a");
  EXPECT_EQ(subset.ports, (std::vector<EndpointPort>{{"", 8080}}));
  EXPECT_FALSE(endpoints().truncated);
}

TEST_F(EndpointsControllerTest, APodThatIsNotReadyStandsInTheOtherList) {
  server.set_ready("one", false);
  settle();
  EXPECT_EQ(ready(), Names{"two"});
  EXPECT_EQ(not_ready(), Names{"one"});
}

TEST_F(EndpointsControllerTest, ATerminatingPodLeavesBothLists) {
  server.endpoints().set_delay(seconds(2));
  server.delete_pod("one");
  loop.run_for(milliseconds(1'999));
  EXPECT_EQ(ready(), (Names{"one", "two"}));
  loop.run_for(milliseconds(1));
  EXPECT_EQ(ready(), Names{"two"});
  EXPECT_TRUE(not_ready().empty());
}

TEST_F(EndpointsControllerTest, PublishNotReadyAddressesKeepsEveryPodReady) {
  server.store().put(
      Service{.name = "web", .selector = {{"app", "web"}}, .publish_not_ready = true});
  server.delete_pod("one");
  server.set_ready("two", false);
  settle();
  EXPECT_EQ(ready(), (Names{"one", "two"}));
  server.update_pod("one", [](Pod& pod) { pod.phase = "Failed"; });
  settle();
  EXPECT_EQ(ready(), Names{"two"});
}

TEST_F(EndpointsControllerTest, PodsWithDifferentPortsStandInDifferentSubsets) {
  server.store().put(Service{.name = "web",
                             .selector = {{"app", "web"}},
                             .ports = {{.name = "http"}, {.name = "a", .target_name = "admin"}}});
  add_pod("one", "10.1.0.1", 9001);
  add_pod("two", "10.1.0.2", 9002);
  add_pod("three", "10.1.0.3");
  settle();
  const auto subsets = endpoints().subsets;
  ASSERT_EQ(subsets.size(), 3U);
  for (const auto& subset : subsets) {
    ASSERT_EQ(subset.ports.size(), 1U);
    const auto& port = subset.ports.front();
    const Names expected = port.name == "http" ? Names{"one", "two", "three"}
                           : port.port == 9001 ? Names{"one"}
                                               : Names{"two"};
    EXPECT_EQ(pods(subset.ready), expected);
  }
}

TEST_F(EndpointsControllerTest, PortsWithTheSamePodsShareASubset) {
  server.store().put(
      Service{.name = "web",
              .selector = {{"app", "web"}},
              .ports = {{.name = "http"}, {.name = "https", .port = 443, .target = 8443}}});
  settle();
  ASSERT_EQ(endpoints().subsets.size(), 1U);
  EXPECT_EQ(endpoints().subsets.at(0).ports,
            (std::vector<EndpointPort>{{"http", 8080}, {"https", 8443}}));
}

TEST_F(EndpointsControllerTest, AHeadlessServiceNeedsNoPorts) {
  server.store().put(
      Service{.name = "web", .selector = {{"app", "web"}}, .headless = true, .ports = {}});
  settle();
  EXPECT_EQ(ready(), (Names{"one", "two"}));
  EXPECT_TRUE(endpoints().subsets.at(0).ports.empty());
  EXPECT_TRUE(endpoints().labels.contains("service.kubernetes.io/headless"));
}

TEST_F(EndpointsControllerTest, TruncatesReadyPodsLast) {
  server.endpoints().set_endpoints_max(2);
  add_pod("three", "10.1.0.3");
  server.set_ready("one", false);
  settle();
  EXPECT_TRUE(endpoints().truncated);
  EXPECT_EQ(ready(), (Names{"two", "three"}));
  EXPECT_TRUE(not_ready().empty());

  add_pod("four", "10.1.0.4");
  settle();
  EXPECT_EQ(ready(), (Names{"two", "three"}));

  server.finish_pod("four");
  server.finish_pod("one");
  settle();
  EXPECT_FALSE(endpoints().truncated);
}

TEST_F(EndpointsControllerTest, TruncatesEachSubsetByItsShare) {
  server.endpoints().set_endpoints_max(3);
  server.store().put(Service{.name = "web",
                             .selector = {{"app", "web"}},
                             .ports = {{.name = "a", .target_name = "admin"}}});
  for (int i = 0; i < 6; ++i) {
    const std::string digit = std::to_string(i);
    add_pod("p" + digit, "10.1.1." + digit, i < 4 ? 9001 : 9002);
  }
  settle();
  ASSERT_EQ(endpoints().subsets.size(), 2U);
  EXPECT_EQ(endpoints().subsets.at(0).ready.size(), 2U);
  EXPECT_EQ(endpoints().subsets.at(1).ready.size(), 1U);
}

TEST_F(EndpointsControllerTest, WritesNothingWhilePaused) {
  server.endpoints().pause();
  server.delete_pod("one");
  loop.run_for(seconds(60));
  EXPECT_EQ(ready(), (Names{"one", "two"}));
  server.endpoints().resume();
  settle();
  EXPECT_EQ(ready(), Names{"two"});
}

TEST_F(EndpointsControllerTest, EndpointsGoWithTheirService) {
  server.store().remove(Resource::kServices, "web");
  settle();
  EXPECT_TRUE(server.store().all(Resource::kEndpoints).empty());
}

TEST_F(EndpointsControllerTest, EndpointsOfAServiceThatWentMeanwhileGoOnResume) {
  server.endpoints().pause();
  server.store().remove(Resource::kServices, "web");
  settle();
  EXPECT_EQ(ready().size(), 2U);
  server.endpoints().resume();
  settle();
  EXPECT_TRUE(server.store().all(Resource::kEndpoints).empty());
}

TEST_F(EndpointsControllerTest, LeavesAServiceWithoutASelectorAlone) {
  server.store().put(Service{.name = "manual"});
  server.store().put(Endpoints{.name = "manual", .subsets = {{.ready = {{.ip = "10.9.0.1"}}}}});
  settle();
  const auto* manual = server.store().get<Endpoints>(Resource::kEndpoints, "manual");
  ASSERT_NE(manual, nullptr);
  EXPECT_EQ(manual->subsets.size(), 1U);
}

}  // namespace
}  // namespace lastcall::fakes
