#include "k8s/endpoints_view.h"

#include <string>

#include <gtest/gtest.h>

namespace lastcall::k8s {
namespace {

PodIdentity us() {
  return {.uid = "uid-us",
          .node_name = "node-1",
          .addresses = {"10.0.0.1", "fd00::1"},
          .host_network = false,
          .ports = {8080}};
}

PodIdentity us_on_the_host() {
  PodIdentity identity = us();
  identity.host_network = true;
  return identity;
}

std::string endpoints(const std::string& subsets, const std::string& metadata = "") {
  return R"({"metadata":{"name":"web")" + metadata + R"(},"subsets":)" + subsets + "}";
}

// An address of a Pod with this uid; not ours.
std::string pod(const std::string& uid) {
  return R"({"ip":"10.0.0.9","targetRef":{"kind":"Pod","uid":")" + uid + R"("}})";
}

EndpointsView parse(const std::string& text, const PodIdentity& identity = us()) {
  const net::Result<EndpointsView> view = parse_endpoints(PaddedText(text), identity);
  EXPECT_TRUE(view.ok()) << text << ": " << (view.ok() ? "" : view.error().message);
  return view.ok() ? view.value() : EndpointsView{};
}

std::string error_of(const std::string& text) {
  const net::Result<EndpointsView> view = parse_endpoints(PaddedText(text), us());
  EXPECT_FALSE(view.ok()) << text;
  if (view.ok()) return "";
  EXPECT_EQ(view.error().code, net::ErrorCode::kInvalid);
  return view.error().message;
}

TEST(EndpointsView, ReadsAWholeObject) {
  const EndpointsView view = parse(R"({
    "kind": "Endpoints", "apiVersion": "v1",
    "metadata": {"name": "web", "annotations": {
      "endpoints.kubernetes.io/last-change-trigger-time": "2026-01-02T03:04:05Z"}},
    "subsets": [
      {"addresses": [
         {"ip": "10.0.0.1", "nodeName": "node-1",
          "targetRef": {"kind": "Pod", "namespace": "ns", "name": "us", "uid": "uid-us"}},
         {"ip": "10.0.0.2", "hostname": "h",
          "targetRef": {"kind": "Pod", "namespace": "ns", "name": "other", "uid": "uid-other"}}],
       "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}]},
      {"notReadyAddresses": [{"ip": "10.0.0.3"}], "ports": null}]})");
  EXPECT_EQ(view.name, "web");
  EXPECT_FALSE(view.truncated);
  EXPECT_TRUE(view.own_ready);
  EXPECT_FALSE(view.own_not_ready);
  EXPECT_TRUE(view.others_ready);
}

TEST(EndpointsView, NobodyIsInAnEmptyOne) {
  for (const char* subsets : {"null", "[]", "[{}]", R"([{"addresses":null}])"}) {
    const EndpointsView view = parse(endpoints(subsets));
    EXPECT_FALSE(view.own_ready || view.own_not_ready || view.others_ready) << subsets;
  }
  EXPECT_FALSE(parse(R"({"metadata":{"name":"web"}})").own_ready);
}

TEST(EndpointsView, FindsUsInAnySubsetAndList) {
  const EndpointsView view = parse(endpoints(R"([{"notReadyAddresses":[)" + pod("uid-us") +
                                             R"(]},{"addresses":[)" + pod("uid-other") + "]}]"));
  EXPECT_FALSE(view.own_ready);
  EXPECT_TRUE(view.own_not_ready);
  EXPECT_TRUE(view.others_ready);

  const EndpointsView both = parse(endpoints(R"([{"notReadyAddresses":[)" + pod("uid-us") +
                                             R"(]},{"addresses":[)" + pod("uid-us") + "]}]"));
  EXPECT_TRUE(both.own_ready);
  EXPECT_TRUE(both.own_not_ready);
  EXPECT_FALSE(both.others_ready);
}

TEST(EndpointsView, OthersThatAreNotReadyDoNotCount) {
  EXPECT_FALSE(
      parse(endpoints(R"([{"notReadyAddresses":[)" + pod("uid-other") + "]}]")).others_ready);
}

TEST(EndpointsView, FindsUsByAddressWhereThereIsNoUid) {
  EXPECT_TRUE(parse(endpoints(R"([{"addresses":[{"ip":"10.0.0.1"}]}])")).own_ready);
  EXPECT_TRUE(parse(endpoints(R"([{"addresses":[{"ip":"fd00::1","targetRef":{"kind":"Pod"}}]}])"))
                  .own_ready);
  const EndpointsView other = parse(endpoints(R"([{"addresses":[{"ip":"10.0.0.10"}]}])"));
  EXPECT_FALSE(other.own_ready);
  EXPECT_TRUE(other.others_ready);
}

TEST(EndpointsView, OurAddressWithAnotherUidOrKindIsNotOurs) {
  for (const char* target : {R"({"kind":"Pod","uid":"uid-other"})", R"({"kind":"Node"})"}) {
    const EndpointsView view = parse(endpoints(
        std::string(R"([{"addresses":[{"ip":"10.0.0.1","targetRef":)") + target + "}]}]"));
    EXPECT_FALSE(view.own_ready) << target;
    EXPECT_TRUE(view.others_ready) << target;
  }
}

TEST(EndpointsView, OnTheHostsNetworkThePortOfTheSubsetDecides) {
  const auto with_port = [](const std::string& ports) {
    return endpoints(R"([{"addresses":[{"ip":"10.0.0.1"}],"ports":)" + ports + "}]");
  };
  EXPECT_TRUE(parse(with_port(R"([{"port":8080}])"), us_on_the_host()).own_ready);
  EXPECT_TRUE(parse(with_port(R"([{"port":1},{"port":8080}])"), us_on_the_host()).own_ready);
  EXPECT_TRUE(parse(with_port("null"), us_on_the_host()).own_ready);

  const EndpointsView neighbour = parse(with_port(R"([{"port":9090}])"), us_on_the_host());
  EXPECT_FALSE(neighbour.own_ready);
  EXPECT_TRUE(neighbour.others_ready);

  PodIdentity without_ports = us_on_the_host();
  without_ports.ports.clear();
  EXPECT_TRUE(parse(with_port(R"([{"port":9090}])"), without_ports).own_ready);
}

TEST(EndpointsView, OnTheHostsNetworkEachSubsetHasItsOwnPorts) {
  const EndpointsView view =
      parse(endpoints(R"([{"notReadyAddresses":[{"ip":"10.0.0.1"}],"ports":[{"port":8080}]},)"
                      R"({"addresses":[{"ip":"10.0.0.1"}],"ports":[{"port":9090}]}])"),
            us_on_the_host());
  EXPECT_FALSE(view.own_ready);
  EXPECT_TRUE(view.own_not_ready);
  EXPECT_TRUE(view.others_ready);
}

TEST(EndpointsView, IsTruncatedWhenItsAnnotationSaysSo) {
  const auto with_annotation = [](const std::string& value) {
    return parse(endpoints("[]", R"(,"annotations":{"endpoints.kubernetes.io/over-capacity":)" +
                                     value + "}"))
        .truncated;
  };
  EXPECT_TRUE(with_annotation(R"("truncated")"));
  EXPECT_FALSE(with_annotation(R"("warning")"));
  EXPECT_FALSE(with_annotation("null"));
}

TEST(EndpointsView, NamesTheFieldOfTheWrongType) {
  EXPECT_EQ(error_of(endpoints("{}")), "Endpoints: subsets is not an array");
  EXPECT_EQ(error_of(endpoints(R"([{"addresses":[{"ip":1}]}])")),
            "Endpoints: subsets[].addresses[].ip is not a string");
  EXPECT_EQ(error_of(endpoints(R"([{"addresses":[{"targetRef":{"uid":1}}]}])")),
            "Endpoints: subsets[].addresses[].targetRef is not a string");
  EXPECT_EQ(error_of(endpoints(R"([{"ports":[{"port":"80"}]}])")),
            "Endpoints: subsets[].ports[].port is not an integer");
  EXPECT_EQ(error_of(R"({"kind":"Service","metadata":{"name":"web"}})"),
            "Endpoints: kind is not Endpoints");
  EXPECT_EQ(error_of("{}"), "Endpoints: metadata.name is not there");
  EXPECT_EQ(error_of("x").substr(0, 19), "Endpoints: not JSON");
}

}  // namespace
}  // namespace lastcall::k8s
