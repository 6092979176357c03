#include "k8s/pod_view.h"

#include <string>

#include <gtest/gtest.h>

namespace lastcall::k8s {
namespace {

using namespace std::chrono_literals;
using Ports = std::vector<std::uint16_t>;
using Texts = std::vector<std::string>;

PodView parse(const std::string& text) {
  const net::Result<PodView> view = parse_pod(PaddedText(text));
  EXPECT_TRUE(view.ok()) << text << ": " << (view.ok() ? "" : view.error().message);
  return view.ok() ? view.value() : PodView{};
}

std::string error_of(const std::string& text) {
  const net::Result<PodView> view = parse_pod(PaddedText(text));
  EXPECT_FALSE(view.ok()) << text;
  return view.ok() ? "" : view.error().message;
}

std::string pod(const std::string& metadata, const std::string& spec = "",
                const std::string& status = "") {
  return R"({"metadata":{"name":"p")" + metadata + R"(},"spec":{)" + spec + R"(},"status":{)" +
         status + "}}";
}

TEST(PodView, ReadsATerminatingPod) {
  const PodView view = parse(R"({
    "kind": "Pod", "apiVersion": "v1",
    "metadata": {"name": "web-1", "namespace": "ns", "uid": "uid-1",
      "labels": {"app": "web", "a\"b": "c"},
      "annotations": {"x": "{\"spec\":{\"nodeName\":\"no\"}}", "lastcall/settle": "5s"},
      "resourceVersion": "4711",
      "deletionTimestamp": "2026-01-02T03:04:05Z", "deletionGracePeriodSeconds": 60},
    "spec": {"nodeName": "node-1", "hostNetwork": true, "terminationGracePeriodSeconds": 90,
      "containers": [
        {"name": "a", "ports": [{"containerPort": 8080, "protocol": "TCP"}, {"containerPort": 9090}]},
        {"name": "b", "ports": [{"containerPort": 8080}]}, {"name": "c"}, {"ports": null}],
      "initContainers": [{"name": "sidecar", "ports": [{"containerPort": 15090}]}]},
    "status": {"phase": "Running", "reason": "NodeShutdown", "podIP": "10.0.0.1",
      "podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}],
      "conditions": [{"type": "Ready", "status": "True"},
                     {"type": "DisruptionTarget", "status": "True"}]}})");
  EXPECT_EQ(view.name, "web-1");
  EXPECT_EQ(view.uid, "uid-1");
  EXPECT_EQ(view.labels, (Labels{{"app", "web"}, {"a\"b", "c"}}));
  EXPECT_EQ(view.annotations, (std::map<std::string, std::string>{{"lastcall/settle", "5s"}}));
  EXPECT_EQ(view.resource_version, "4711");
  EXPECT_EQ(view.addresses, (Texts{"10.0.0.1", "fd00::1"}));
  EXPECT_EQ(view.node_name, "node-1");
  EXPECT_TRUE(view.host_network);
  EXPECT_EQ(view.ports, (Ports{8080, 9090, 15090}));
  EXPECT_EQ(view.grace_period, 90s);
  EXPECT_EQ(view.deletion_timestamp,
            net::WallTime(std::chrono::sys_days(std::chrono::year(2026) / 1 / 2)) + 3h + 4min + 5s);
  EXPECT_EQ(view.deletion_grace_period, 60s);
  EXPECT_EQ(view.phase, "Running");
  EXPECT_EQ(view.reason, "NodeShutdown");
  EXPECT_TRUE(view.disruption_target);
}

TEST(PodView, AbsentFieldsHaveTheirDefaults) {
  for (
      const std::string& text :
      {std::string(R"({"metadata":{"name":"p"}})"), pod(""),
       std::string(R"({"metadata":{"name":"p"},"spec":null,"status":null})"),
       pod(R"(,"uid":null,"labels":null,"annotations":null,"resourceVersion":null,"deletionTimestamp":null,)"
           R"("deletionGracePeriodSeconds":null)",
           R"("containers":null,"hostNetwork":null,"terminationGracePeriodSeconds":null)",
           R"("podIPs":null,"podIP":null,"conditions":null)")}) {
    const PodView view = parse(text);
    EXPECT_EQ(view.grace_period, 30s);
    EXPECT_FALSE(view.deletion_timestamp);
    EXPECT_FALSE(view.deletion_grace_period);
    EXPECT_TRUE(view.addresses.empty());
    EXPECT_TRUE(view.ports.empty());
    EXPECT_TRUE(view.annotations.empty());
    EXPECT_EQ(view.resource_version, "");
    EXPECT_FALSE(view.host_network);
    EXPECT_FALSE(view.disruption_target);
  }
}

TEST(PodView, KeepsOnlyTheAnnotationsThatAreForUs) {
  const PodView view = parse(
      pod(R"(,"annotations":{"lastcall/a\u0062":"x\ny","lastcall":"n","lastcalls/a":"n",)"
          R"("kubectl.kubernetes.io/last-applied-configuration":"{}","lastcall/empty":null})"));
  EXPECT_EQ(view.annotations,
            (std::map<std::string, std::string>{{"lastcall/ab", "x\ny"}, {"lastcall/empty", ""}}));
}

TEST(PodView, PodIpServesWhereThereAreNoPodIps) {
  EXPECT_EQ(parse(pod("", "", R"("podIP":"10.0.0.7")")).addresses, Texts{"10.0.0.7"});
  EXPECT_EQ(parse(pod("", "", R"("podIPs":[],"podIP":"10.0.0.7")")).addresses, Texts{"10.0.0.7"});
  EXPECT_TRUE(parse(pod("", "", R"("podIP":"")")).addresses.empty());
}

TEST(PodView, ADisruptionConditionThatIsFalseIsNone) {
  EXPECT_FALSE(parse(pod("", "", R"("conditions":[{"type":"DisruptionTarget","status":"False"}])"))
                   .disruption_target);
}

TEST(PodView, BoundsTheGracePeriod) {
  EXPECT_EQ(parse(pod("", R"("terminationGracePeriodSeconds":9223372036854775807)")).grace_period,
            PodView::kGracePeriodMax);
  EXPECT_EQ(parse(pod("", R"("terminationGracePeriodSeconds":0)")).grace_period, 0s);
  EXPECT_EQ(parse(pod("", R"("terminationGracePeriodSeconds":-5)")).grace_period, 30s);
}

TEST(PodView, NamesTheFieldOfTheWrongType) {
  EXPECT_EQ(error_of(pod(R"(,"deletionTimestamp":"soon")")),
            "Pod: metadata.deletionTimestamp is not a time");
  EXPECT_EQ(error_of(pod(R"(,"annotations":{"a":1})")),
            "Pod: metadata.annotations is not a string");
  EXPECT_EQ(error_of(pod(R"(,"resourceVersion":4711)")),
            "Pod: metadata.resourceVersion is not a string");
  EXPECT_EQ(error_of(pod(R"(,"labels":{"a":1})")), "Pod: metadata.labels is not a string");
  EXPECT_EQ(error_of(pod("", R"("terminationGracePeriodSeconds":"30")")),
            "Pod: spec.terminationGracePeriodSeconds is not an integer");
  EXPECT_EQ(error_of(pod("", R"("containers":[{"ports":[{"containerPort":65536}]}])")),
            "Pod: spec.containers[].ports[].containerPort is not a port");
  EXPECT_EQ(error_of(pod("", R"("hostNetwork":"true")")), "Pod: spec.hostNetwork is not a boolean");
  EXPECT_EQ(error_of(R"({"kind":"Service","metadata":{"name":"p"}})"), "Pod: kind is not Pod");
  EXPECT_EQ(error_of("{}"), "Pod: metadata.name is not there");
  EXPECT_EQ(error_of("").substr(0, 13), "Pod: not JSON");
  EXPECT_EQ(error_of("[1]").substr(0, 13), "Pod: not JSON");
}

}  // namespace
}  // namespace lastcall::k8s
