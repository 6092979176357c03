#include "k8s/node_view.h"

#include <string>

#include <gtest/gtest.h>

namespace lastcall::k8s {
namespace {

std::string node(const std::string& conditions) {
  return R"({"metadata":{"name":"node-1"},"status":{"conditions":)" + conditions + "}}";
}

std::string condition(const std::string& type, const std::string& status,
                      const std::string& message = "m") {
  return R"({"type":")" + type + R"(","status":")" + status + R"(","reason":"r","message":")" +
         message + R"("})";
}

NodeView parse(const std::string& text) {
  const net::Result<NodeView> view = parse_node(PaddedText(text));
  EXPECT_TRUE(view.ok()) << text << ": " << (view.ok() ? "" : view.error().message);
  return view.ok() ? view.value() : NodeView{};
}

std::string error_of(const std::string& text) {
  const net::Result<NodeView> view = parse_node(PaddedText(text));
  EXPECT_FALSE(view.ok()) << text;
  return view.ok() ? "" : view.error().message;
}

TEST(NodeView, ReadsAHealthyNode) {
  const NodeView view = parse(R"({"kind": "Node", "metadata": {"name": "node-1"},
    "spec": {"podCIDR": "10.0.0.0/24"},
    "status": {"capacity": {"cpu": "2"}, "conditions": [
      {"type": "MemoryPressure", "status": "False", "message": "enough"},
      {"type": "Ready", "status": "True", "reason": "KubeletReady",
       "message": "kubelet is posting ready status"}]}})");
  EXPECT_EQ(view.name, "node-1");
  EXPECT_FALSE(view.shutting_down);
  EXPECT_FALSE(view.under_pressure);
  EXPECT_EQ(view.why, "");
}

TEST(NodeView, SaysNothingWithoutConditions) {
  for (const std::string& text :
       {std::string(R"({"metadata":{"name":"n"}})"), node("null"), node("[]"), node("[{}]")}) {
    EXPECT_EQ(parse(text).why, "") << text;
  }
}

TEST(NodeView, IsShuttingDownWhenItsKubeletSaysSo) {
  const NodeView view =
      parse(node("[" + condition("Ready", "False", "node is shutting down") + "]"));
  EXPECT_TRUE(view.shutting_down);
  EXPECT_FALSE(view.under_pressure);
  EXPECT_EQ(view.why, "Ready (node is shutting down)");
}

TEST(NodeView, IsShuttingDownAmongOtherTroubles) {
  EXPECT_TRUE(
      parse(node("[" +
                 condition("Ready", "False", "[container runtime is down, node is shutting down]") +
                 "]"))
          .shutting_down);
}

TEST(NodeView, IsNotShuttingDownForAnotherReasonOrWhileReady) {
  for (const std::string& ready :
       {condition("Ready", "False", "container runtime is down"),
        condition("Ready", "Unknown", "Kubelet stopped posting node status."),
        condition("Ready", "True", "node is shutting down"),
        condition("Gossip", "False", "node is shutting down")}) {
    EXPECT_FALSE(parse(node("[" + ready + "]")).shutting_down) << ready;
  }
}

TEST(NodeView, IsUnderPressureWhenAnyOfThePressuresIsTrue) {
  for (const char* type : {"MemoryPressure", "DiskPressure", "PIDPressure"}) {
    const NodeView view = parse(node("[" + condition(type, "True") + "]"));
    EXPECT_TRUE(view.under_pressure) << type;
    EXPECT_FALSE(view.shutting_down) << type;
    EXPECT_EQ(view.why, type);
  }
  EXPECT_FALSE(parse(node("[" + condition("DiskPressure", "Unknown") + "]")).under_pressure);
  EXPECT_FALSE(parse(node("[" + condition("NetworkUnavailable", "True") + "]")).under_pressure);
}

TEST(NodeView, NamesEveryReason) {
  EXPECT_EQ(parse(node("[" + condition("DiskPressure", "True") + "," +
                       condition("Ready", "False", "node is shutting down") + "," +
                       condition("DiskPressure", "True") + "]"))
                .why,
            "DiskPressure, Ready (node is shutting down)");
}

TEST(NodeView, NamesTheFieldOfTheWrongType) {
  EXPECT_EQ(error_of(node(R"([{"type":1}])")), "Node: status.conditions[].type is not a string");
  EXPECT_EQ(error_of(node(R"([{"message":[]}])")),
            "Node: status.conditions[].message is not a string");
  EXPECT_EQ(error_of(node("1")), "Node: status.conditions is not an array");
  EXPECT_EQ(error_of(R"({"kind":"Pod","metadata":{"name":"n"}})"), "Node: kind is not Node");
  EXPECT_EQ(error_of("{}"), "Node: metadata.name is not there");
  EXPECT_EQ(error_of("").substr(0, 14), "Node: not JSON");
}

}  // namespace
}  // namespace lastcall::k8s
