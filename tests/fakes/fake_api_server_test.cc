#include "tests/fakes/fake_api_server.h"

#include <chrono>
#include <list>

#include "gtest/gtest.h"

#include "k8s/access_review.h"
#include "k8s/endpoints_view.h"
#include "k8s/node_view.h"
#include "tests/fakes/recorded_answer.h"
#include "tests/fakes/sim_loop.h"

namespace lastcall::fakes {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr const char* kPods = "/api/v1/namespaces/shop/pods";
constexpr const char* kServices = "/api/v1/namespaces/shop/services";
constexpr const char* kEndpoints = "/api/v1/namespaces/shop/endpoints";
constexpr const char* kSlices = "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices";

class FakeApiServerTest : public testing::Test {
 protected:
  FakeApiServerTest() {
    for (const std::string name : {"api", "web"}) {
      server.store().put(Service{.name = name, .selector = {{"app", name}}});
      server.store().put(Pod{.name = name + "-0", .labels = {{"app", name}}, .ips = {"10.1.0.1"}});
    }
    server.slices().catch_up();
  }

  RecordedAnswer& ask(const std::string& target, const std::string& token = {}) {
    ApiCall call{.target = target};
    if (!token.empty()) call.headers.add("authorization", "Bearer " + token);
    auto& answer = answers.emplace_back();
    server.serve(call, answer);
    return answer;
  }
  std::string version() { return std::to_string(server.store().version()); }
  RecordedAnswer& watch_from(const std::string& from, const std::string& more = {}) {
    return ask(std::string(kSlices) + "?watch=1&resourceVersion=" + from + more);
  }

  SimLoop loop{1};
  FakeApiServer server{loop};
  std::list<RecordedAnswer> answers;
};

TEST_F(FakeApiServerTest, GetPrintsThePodAsGoDoes) {
  const auto& answer = ask(std::string(kPods) + "/web-0");
  EXPECT_EQ(answer.status(), 200);
  EXPECT_EQ(answer.header("content-type"), "application/json");
  EXPECT_TRUE(answer.body().starts_with(R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":)"));
  EXPECT_TRUE(answer.body().ends_with("}\n"));
  const auto pod = answer.json();
  EXPECT_EQ(pod["status"]["podIPs"][0]["ip"], "10.1.0.1");
  EXPECT_EQ(pod["spec"]["terminationGracePeriodSeconds"], 30);
  EXPECT_FALSE(pod["metadata"].contains("deletionTimestamp"));
}

TEST_F(FakeApiServerTest, DateIsTheServersClockToTheSecond) {
  loop.run_for(milliseconds(1'900));
  EXPECT_EQ(ask(kServices).header("Date"), "Mon, 05 Jan 2026 09:00:01 GMT");
}

TEST_F(FakeApiServerTest, AMissingObjectIsAStatus) {
  const auto& answer = ask(std::string(kPods) + "/nobody");
  EXPECT_EQ(answer.status(), 404);
  EXPECT_EQ(answer.json()["kind"], "Status");
  EXPECT_EQ(answer.json()["reason"], "NotFound");
  EXPECT_EQ(answer.json()["message"], "pods \"nobody\" not found");
}

TEST_F(FakeApiServerTest, AnUnknownPathIsPlainText) {
  EXPECT_EQ(ask("/nowhere").status(), 404);
  EXPECT_EQ(ask("/api/v1/namespaces/other/pods").body(), "404 page not found\n");
}

TEST_F(FakeApiServerTest, ListItemsCarryNoKind) {
  const auto list = ask(kSlices).json();
  EXPECT_EQ(list["kind"], "EndpointSliceList");
  EXPECT_EQ(list["metadata"]["resourceVersion"], version());
  ASSERT_EQ(list["items"].size(), 2U);
  const auto& slice = list["items"][0];
  EXPECT_FALSE(slice.contains("kind"));
  EXPECT_EQ(slice["metadata"]["labels"]["kubernetes.io/service-name"], "api");
  EXPECT_EQ(slice["endpoints"][0]["targetRef"]["name"], "api-0");
  EXPECT_EQ(slice["endpoints"][0]["conditions"]["ready"], true);
}

TEST_F(FakeApiServerTest, SelectorsChoose) {
  const auto chosen =
      ask(std::string(kSlices) + "?labelSelector=kubernetes.io%2Fservice-name%20in%20%28web%2Cx%29")
          .json();
  ASSERT_EQ(chosen["items"].size(), 1U);
  EXPECT_EQ(ask(std::string(kPods) + "?fieldSelector=metadata.name%3Dapi-0").json()["items"].size(),
            1U);
  EXPECT_EQ(ask(std::string(kPods) + "?labelSelector=app%21%3Dweb").status(), 400);
}

TEST_F(FakeApiServerTest, PagesShowOneMomentAndExpireWithIt) {
  const auto first = ask(std::string(kPods) + "?limit=1").json();
  EXPECT_EQ(first["metadata"]["remainingItemCount"], 1);
  const std::string next = first["metadata"]["continue"];
  server.set_ready("web-0", false);
  const auto second = ask(std::string(kPods) + "?limit=1&continue=" + next).json();
  EXPECT_EQ(second["metadata"]["resourceVersion"], first["metadata"]["resourceVersion"]);
  EXPECT_EQ(second["items"][0]["status"]["conditions"][0]["status"], "True");
  EXPECT_FALSE(second["metadata"].contains("continue"));
  EXPECT_EQ(ask(std::string(kPods) + "?limit=1&continue=" + next).status(), 410);
}

TEST_F(FakeApiServerTest, AWatchTellsWhatHappensFromItsVersionOn) {
  const std::string before = version();
  server.delete_pod("web-0");
  loop.run_for(seconds(1));
  auto& watch = watch_from(before);
  const auto lines = watch.take_lines();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0]["type"], "MODIFIED");
  EXPECT_EQ(lines[0]["object"]["kind"], "EndpointSlice");
  EXPECT_EQ(lines[0]["object"]["endpoints"][0]["conditions"]["terminating"], true);
  server.store().remove(Resource::kServices, "web");
  loop.run_for(seconds(1));
  EXPECT_EQ(watch.take_lines().at(0)["type"], "DELETED");
  EXPECT_FALSE(watch.ended());
}

TEST_F(FakeApiServerTest, AWatchFromNowhereBeginsWithWhatIsThere) {
  EXPECT_EQ(watch_from("").take_lines().size(), 2U);
  EXPECT_EQ(watch_from("0").take_lines().at(0)["type"], "ADDED");
}

TEST_F(FakeApiServerTest, ACompactedVersionIsGoneInEitherForm) {
  const std::string before = version();
  server.set_ready("web-0", false);
  loop.run_for(seconds(1));
  server.compact(GoneForm::kStatus);
  EXPECT_EQ(watch_from(before).status(), 410);
  server.compact(GoneForm::kEvent);
  auto& watch = watch_from(before);
  EXPECT_EQ(watch.status(), 200);
  EXPECT_TRUE(watch.ended());
  const auto event = watch.take_lines().at(0);
  EXPECT_EQ(event["type"], "ERROR");
  EXPECT_EQ(event["object"]["code"], 410);
  EXPECT_EQ(watch_from(version()).status(), 200);
}

TEST_F(FakeApiServerTest, AVersionOfTheFutureTimesOut) {
  EXPECT_EQ(watch_from("999999").status(), 504);
}

TEST_F(FakeApiServerTest, BookmarksComeWhenAskedFor) {
  auto& with = watch_from(version(), "&allowWatchBookmarks=true");
  auto& without = watch_from(version());
  server.set_ready("web-0", true);
  loop.run_for(seconds(61));
  const auto bookmark = with.take_lines().at(0);
  EXPECT_EQ(bookmark["type"], "BOOKMARK");
  EXPECT_EQ(bookmark["object"]["metadata"]["resourceVersion"], version());
  EXPECT_TRUE(without.take_lines().empty());
}

TEST_F(FakeApiServerTest, WatchesEndByTimeByWillAndByForce) {
  auto& timed = watch_from(version(), "&timeoutSeconds=5");
  loop.run_for(seconds(6));
  EXPECT_TRUE(timed.ended());
  auto& ended = watch_from(version());
  server.end_watches();
  EXPECT_TRUE(ended.ended());
  auto& cut = watch_from(version());
  server.cut_watches();
  EXPECT_TRUE(cut.was_cut());
  auto& left = watch_from(version());
  EXPECT_EQ(server.watches(), 1U);
  server.forget(left);
  EXPECT_EQ(server.watches(), 0U);
}

TEST_F(FakeApiServerTest, ADeletionIsTheDeadlineInWholeSeconds) {
  loop.run_for(milliseconds(700));
  server.delete_pod("web-0");
  const auto metadata = ask(std::string(kPods) + "/web-0").json()["metadata"];
  EXPECT_EQ(metadata["deletionTimestamp"], "2026-01-05T09:00:30Z");
  EXPECT_EQ(metadata["deletionGracePeriodSeconds"], 30);
}

TEST_F(FakeApiServerTest, ASecondDeletionMayOnlyShorten) {
  server.delete_pod("web-0");
  loop.run_for(seconds(5));
  server.delete_pod("web-0", seconds(60));
  const auto deletion = [this] {
    return ask(std::string(kPods) + "/web-0").json()["metadata"]["deletionTimestamp"];
  };
  EXPECT_EQ(deletion(), "2026-01-05T09:00:30Z");
  server.delete_pod("web-0", seconds(10));
  EXPECT_EQ(deletion(), "2026-01-05T09:00:10Z");
  server.delete_pod("web-0", seconds(0));
  EXPECT_EQ(ask(std::string(kPods) + "/web-0").status(), 404);
}

TEST_F(FakeApiServerTest, TokensAndRolesAreAskedFor) {
  server.set_tokens({"good"});
  EXPECT_EQ(ask(kServices).status(), 401);
  EXPECT_EQ(ask(kServices, "bad").status(), 401);
  EXPECT_EQ(ask(kServices, "good").status(), 200);
  server.forbid("list", "endpointslices");
  const auto& refused = ask(kSlices, "good");
  EXPECT_EQ(refused.status(), 403);
  EXPECT_EQ(refused.json()["reason"], "Forbidden");
  EXPECT_EQ(server.asked().at("list services"), 3);
}

TEST_F(FakeApiServerTest, EndpointsArePrintedAsGoDoes) {
  server.endpoints().resume();
  server.endpoints().set_endpoints_max(1);
  server.store().put(Pod{.name = "web-1", .labels = {{"app", "web"}}, .ips = {"10.1.0.9"}});
  server.endpoints().catch_up();
  const auto list = ask(kEndpoints).json();
  EXPECT_EQ(list["kind"], "EndpointsList");
  EXPECT_EQ(list["items"].size(), 2U);

  const auto endpoints = ask(std::string(kEndpoints) + "/web").json();
  EXPECT_EQ(endpoints["kind"], "Endpoints");
  EXPECT_EQ(endpoints["metadata"]["annotations"]["endpoints.kubernetes.io/over-capacity"],
            "truncated");
  const auto& subset = endpoints["subsets"][0];
  EXPECT_EQ(subset["addresses"][0]["ip"], "10.1.0.1");
  EXPECT_EQ(subset["addresses"][0]["targetRef"]["name"], "web-0");
  EXPECT_EQ(subset["ports"][0], (nlohmann::json{{"port", 8080}, {"protocol", "TCP"}}));
  EXPECT_FALSE(subset.contains("notReadyAddresses"));

  const k8s::PaddedText text(ask(std::string(kEndpoints) + "/web").body());
  k8s::PodIdentity identity;
  identity.addresses = {"10.1.0.1"};
  const auto view = k8s::parse_endpoints(text, identity);
  ASSERT_TRUE(view.ok());
  EXPECT_TRUE(view.value().truncated);
}

TEST_F(FakeApiServerTest, EndpointsWithoutAnybodyHaveNoSubsets) {
  server.store().put(Endpoints{.name = "nobody"});
  EXPECT_FALSE(ask(std::string(kEndpoints) + "/nobody").json().contains("subsets"));
}

TEST_F(FakeApiServerTest, AWatchOfEndpointsTellsOfDeparture) {
  server.endpoints().resume();
  server.endpoints().catch_up();
  auto& watch = ask(std::string(kEndpoints) +
                    "?watch=1&allowWatchBookmarks=true&resourceVersion=" + version());
  server.delete_pod("web-0");
  loop.run_for(seconds(61));
  const auto lines = watch.take_lines();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0]["object"]["metadata"]["name"], "web");
  EXPECT_FALSE(lines[0]["object"].contains("subsets"));
  EXPECT_EQ(lines[1]["type"], "BOOKMARK");
}

TEST_F(FakeApiServerTest, ANodeBelongsToNoNamespace) {
  server.store().put(Node{.name = "node-a"});
  const auto node = ask("/api/v1/nodes/node-a").json();
  EXPECT_EQ(node["kind"], "Node");
  EXPECT_FALSE(node["metadata"].contains("namespace"));
  EXPECT_EQ(node["status"]["conditions"].size(), 4U);
  EXPECT_EQ(node["status"]["conditions"][3]["message"], "kubelet is posting ready status");
  EXPECT_EQ(ask("/api/v1/namespaces/shop/nodes/node-a").status(), 404);
  EXPECT_EQ(ask("/api/v1/nodes/node-b").status(), 404);

  server.forbid("get", "nodes");
  EXPECT_EQ(ask("/api/v1/nodes/node-a").json()["message"],
            "nodes \"node-a\" is forbidden: User \"system:serviceaccount:shop:default\" cannot "
            "get resource \"nodes\" in API group \"\" at the cluster scope");
}

TEST_F(FakeApiServerTest, ANodeSaysWhatIsWrongWithIt) {
  server.store().put(Node{.name = "node-a",
                          .ready_status = "False",
                          .ready_message = "node is shutting down",
                          .pressures = {"DiskPressure"}});
  const auto view = k8s::parse_node(k8s::PaddedText(ask("/api/v1/nodes/node-a").body()));
  ASSERT_TRUE(view.ok());
  EXPECT_TRUE(view.value().shutting_down);
  EXPECT_TRUE(view.value().under_pressure);
  EXPECT_EQ(view.value().why, "DiskPressure, Ready (node is shutting down)");
}

TEST_F(FakeApiServerTest, NamedPortsAndTheHostsNetworkArePrinted) {
  server.store().put(Pod{.name = "host",
                         .ips = {"10.0.0.9"},
                         .ports = {},
                         .named_ports = {{"http", 8001}},
                         .host_network = true});
  const auto pod = ask(std::string(kPods) + "/host").json();
  EXPECT_EQ(
      pod["spec"]["containers"][0]["ports"][0],
      (nlohmann::json{
          {"name", "http"}, {"hostPort", 8001}, {"containerPort", 8001}, {"protocol", "TCP"}}));
  EXPECT_EQ(pod["status"]["hostIP"], "10.0.0.9");

  server.store().put(Service{.name = "host", .ports = {{.name = "h", .target_name = "http"}}});
  EXPECT_EQ(
      ask(std::string(kServices) + "/host").json()["spec"]["ports"][0],
      (nlohmann::json{{"name", "h"}, {"protocol", "TCP"}, {"port", 80}, {"targetPort", "http"}}));
}

TEST_F(FakeApiServerTest, AHandMadeSliceHasNoOwnerAndOnlyTheLabelsItNames) {
  server.store().put(Slice{.name = "bare", .service = "", .managed_by = "", .ports = {}});
  const auto slice = ask(std::string(kSlices) + "/bare").json();
  EXPECT_FALSE(slice["metadata"].contains("labels"));
  EXPECT_FALSE(slice["metadata"].contains("ownerReferences"));
  EXPECT_TRUE(slice["ports"].is_null());
}

TEST_F(FakeApiServerTest, AReviewSaysWhatIsForbidden) {
  server.forbid("list", "endpointslices");
  const auto review = [this](const std::string& verb, const std::string& resource) {
    RecordedAnswer answer;
    server.serve({.method = "POST",
                  .target = std::string(k8s::kAccessReviewPath),
                  .body = k8s::access_review_body({verb, "", resource, "", "shop", ""})},
                 answer);
    EXPECT_EQ(answer.status(), 201);
    return k8s::parse_access_review(k8s::PaddedText(answer.body())).value();
  };
  EXPECT_TRUE(review("watch", "endpointslices").allowed);
  EXPECT_NE(review("watch", "endpointslices").reason, "");
  EXPECT_FALSE(review("list", "endpointslices").allowed);
  EXPECT_EQ(server.asked().at("create selfsubjectaccessreviews"), 3);
}

TEST_F(FakeApiServerTest, AReviewOfNothingIsRefused) {
  for (const auto& [body, status] :
       std::map<std::string, int>{{"", 400},
                                  {R"({"kind":"Event"})", 400},
                                  {R"({"kind":"SelfSubjectAccessReview","spec":{}})", 422}}) {
    RecordedAnswer answer;
    server.serve({.method = "POST", .target = std::string(k8s::kAccessReviewPath), .body = body},
                 answer);
    EXPECT_EQ(answer.status(), status) << body;
  }
}

TEST_F(FakeApiServerTest, EventsAreKept) {
  RecordedAnswer answer;
  server.serve({.method = "POST",
                .target = "/apis/events.k8s.io/v1/namespaces/shop/events",
                .body = R"({"note":"hello"})"},
               answer);
  EXPECT_EQ(answer.status(), 201);
  EXPECT_EQ(server.events().at(0), R"({"note":"hello"})");
}

}  // namespace
}  // namespace lastcall::fakes
