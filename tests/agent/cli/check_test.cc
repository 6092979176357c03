// What `lastcall check` finds, and what it makes of it.
#include "agent/cli/check.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "gtest/gtest.h"

#include "tests/fakes/fake_api_server.h"
#include "tests/fakes/sim_loop.h"
#include "tests/sim/journal.h"
#include "tests/sim/sim_network.h"

namespace lastcall::agent {
namespace {

using std::chrono::seconds;

class CheckTest : public testing::Test {
 protected:
  CheckTest() {
    settings_.pod_name.value = "own";
    settings_.pod_namespace.value = "shop";
    settings_.kubernetes_server.value = "http://api";
    settings_.kubernetes_token_file.value = "";
    fakes::Pod pod{.name = "own", .labels = {{"app", "web"}}, .ips = {"10.1.0.1"}};
    pod.grace = seconds(60);
    server_.store().put(std::move(pod));
    server_.store().put(fakes::Service{.name = "web", .selector = {{"app", "web"}}});
    server_.store().put(fakes::Node{.name = "node-a"});
    server_.slices().catch_up();
  }

  CheckResult check() {
    Check check(settings_, loop_, network_);
    std::optional<CheckResult> result;
    check.start(seconds(15), [&result](CheckResult found) { result = std::move(found); });
    const auto end = loop_.now() + seconds(16);
    while (!result && loop_.step(end)) {
    }
    EXPECT_TRUE(result) << "the check never ended";
    return result.value_or(CheckResult{});
  }

  void annotate(const std::string& key, const std::string& value) {
    auto service = *server_.store().get<fakes::Service>(fakes::Resource::kServices, "web");
    service.annotations[key] = value;
    server_.store().put(std::move(service));
  }

  static bool has(const CheckResult& result, Severity severity, const std::string& part) {
    return std::any_of(result.findings.begin(), result.findings.end(), [&](const auto& finding) {
      return finding.severity == severity && finding.text.find(part) != std::string::npos;
    });
  }

  fakes::SimLoop loop_{1};
  sim::Journal journal_{loop_, false};
  fakes::RandomSource random_{1};
  fakes::FakeApiServer server_{loop_};
  sim::SimNetwork network_{loop_, server_, random_, journal_};
  config::Settings settings_;
};

TEST_F(CheckTest, IsFineWhereEverythingIs) {
  const auto result = check();
  EXPECT_EQ(exit_code(result), 0) << check_table(result);
  EXPECT_TRUE(result.findings.empty()) << check_table(result);
  ASSERT_EQ(result.consumers.size(), 1U);
  EXPECT_EQ(result.consumers[0].id, (core::ConsumerId{"endpointslices", "shop/web"}));
  EXPECT_EQ(result.consumers[0].presence, core::Presence::kRoutable);
  EXPECT_EQ(result.budget->hold, seconds(50));
}

TEST_F(CheckTest, ShowsEachThresholdAndItsSource) {
  annotate("lastcall/settle", "9s");
  settings_.blind = {seconds(12), config::Source::kFile};
  const auto result = check();
  EXPECT_EQ(exit_code(result), 0);
  const std::string table = check_table(result);
  EXPECT_NE(table.find("settle         9s"), std::string::npos) << table;
  EXPECT_NE(table.find("service-annotation"), std::string::npos) << table;
  EXPECT_NE(table.find("config-file"), std::string::npos) << table;
}

TEST_F(CheckTest, NamesTheExactRuleThatIsMissing) {
  server_.forbid("watch", "endpointslices");
  const auto result = check();
  EXPECT_EQ(exit_code(result), 2);
  EXPECT_TRUE(has(result, Severity::kFatal,
                  "{apiGroups: [\"discovery.k8s.io\"], resources: [endpointslices], verbs: "
                  "[watch]} in namespace shop"))
      << check_table(result);
}

TEST_F(CheckTest, WarnsOfARuleWithoutWhichItWorksWorse) {
  server_.forbid("watch", "services");
  const auto result = check();
  EXPECT_EQ(exit_code(result), 1);
  EXPECT_TRUE(has(result, Severity::kWarning, "resources: [services], verbs: [watch]"));
}

TEST_F(CheckTest, OnlyNotesThatNodesCannotBeRead) {
  server_.forbid("get", "nodes");
  const auto result = check();
  EXPECT_EQ(exit_code(result), 0);
  EXPECT_TRUE(has(result, Severity::kNote, "resources: [nodes], verbs: [get]} in a ClusterRole"));
}

TEST_F(CheckTest, CannotWorkWithoutReadingThePod) {
  server_.forbid("get", "pods");
  const auto result = check();
  EXPECT_EQ(exit_code(result), 2);
  EXPECT_TRUE(has(result, Severity::kFatal, "the Pod cannot be read: get pods: HTTP 403"));
}

TEST_F(CheckTest, CannotWorkForAPodThatIsNotThere) {
  settings_.pod_name.value = "other";
  const auto result = check();
  EXPECT_EQ(exit_code(result), 2);
  EXPECT_TRUE(has(result, Severity::kFatal, "HTTP 404")) << check_table(result);
}

TEST_F(CheckTest, CannotWorkWithoutListingServices) {
  server_.forbid("list", "services");
  const auto result = check();
  EXPECT_EQ(exit_code(result), 2);
  EXPECT_TRUE(has(result, Severity::kFatal, "the Services cannot be listed"));
}

TEST_F(CheckTest, EndsWhenNobodyAnswers) {
  network_.set_faults({.lost = 1});
  const auto result = check();
  EXPECT_EQ(exit_code(result), 2);
  EXPECT_TRUE(has(result, Severity::kFatal, "the Pod cannot be read"));
  EXPECT_TRUE(has(result, Severity::kWarning, "the server does not say what is allowed"));
}

TEST_F(CheckTest, WarnsOfAGracePeriodWithoutRoomAndSaysHowMuchIsEnough) {
  server_.update_pod("own", [](fakes::Pod& pod) { pod.grace = seconds(30); });
  auto result = check();
  EXPECT_EQ(exit_code(result), 1);
  EXPECT_TRUE(has(result, Severity::kWarning,
                  "the grace period of 30s leaves 20s for the hold (10s are kept for the drain), "
                  "blind needs 25s; 35s would be enough"))
      << check_table(result);
  annotate("lastcall/settle", "40s");
  result = check();
  EXPECT_TRUE(has(result, Severity::kWarning, "settle and quiet need 41s; 51s would be enough"))
      << check_table(result);
}

TEST_F(CheckTest, WarnsOfAMalformedAnnotation) {
  annotate("lastcall/settle", "soon");
  const auto result = check();
  EXPECT_EQ(exit_code(result), 1);
  EXPECT_TRUE(
      has(result, Severity::kWarning, "Service shop/web: lastcall/settle: 'soon', expected"));
}

TEST_F(CheckTest, NotesAServiceThatIsIgnored) {
  annotate("lastcall/ignore", "true");
  const auto result = check();
  EXPECT_EQ(exit_code(result), 0);
  EXPECT_TRUE(has(result, Severity::kNote, "Service web is not waited for"));
  EXPECT_TRUE(has(result, Severity::kNote, "no Service selects this pod"));
}

TEST_F(CheckTest, WarnsOfSlicesThatDoNotFollowThePod) {
  fakes::Slice slice{.name = "by-hand", .service = "web", .managed_by = "somebody"};
  slice.endpoints = {{.pod = "own", .address = "10.1.0.1", .node = "node-a"}};
  server_.store().put(std::move(slice));
  const auto result = check();
  EXPECT_EQ(exit_code(result), 1);
  EXPECT_TRUE(has(result, Severity::kWarning, "does not follow the pod")) << check_table(result);
}

TEST_F(CheckTest, WithLegacyEndpointsAsksForTheirRules) {
  settings_.endpoints.value = true;
  server_.endpoints().resume();
  server_.endpoints().catch_up();
  auto result = check();
  EXPECT_EQ(exit_code(result), 0) << check_table(result);
  EXPECT_EQ(result.consumers.size(), 2U);
  server_.forbid("list", "endpoints");
  result = check();
  EXPECT_EQ(exit_code(result), 2);
  EXPECT_TRUE(has(result, Severity::kFatal, "resources: [endpoints], verbs: [list]"));
}

TEST_F(CheckTest, SaysTheSameInJson) {
  annotate("lastcall/settle", "9s");
  server_.forbid("watch", "services");
  const auto json = nlohmann::json::parse(check_json(check()));
  EXPECT_EQ(json["exit_code"], 1);
  EXPECT_EQ(json["pod"], "shop/own");
  EXPECT_EQ(json["consumers"][0]["thresholds"]["settle"]["seconds"], 9.0);
  EXPECT_EQ(json["consumers"][0]["thresholds"]["settle"]["source"], "service-annotation");
  EXPECT_EQ(json["budget"]["grace"], 60.0);
  EXPECT_EQ(json["findings"][0]["severity"], "warning");
  const auto& permissions = json["permissions"];
  EXPECT_TRUE(std::any_of(permissions.begin(), permissions.end(), [](const auto& one) {
    return one["resource"] == "services" && one["verb"] == "watch" && one["allowed"] == false;
  }));
}

TEST_F(CheckTest, BeginsNothingAndChangesNothing) {
  (void)check();
  for (const auto& [what, count] : server_.asked()) {
    const bool harmless = what.starts_with("get ") || what.starts_with("list ") ||
                          what.starts_with("watch ") || what == "create selfsubjectaccessreviews";
    EXPECT_TRUE(harmless) << what;
  }
  EXPECT_EQ(server_.watches(), 0U);
}

}  // namespace
}  // namespace lastcall::agent
