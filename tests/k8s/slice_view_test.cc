#include "k8s/slice_view.h"

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

std::string slice(const std::string& endpoints, const std::string& more = "") {
  return R"({"metadata":{"name":"s-1"},"addressType":"IPv4","endpoints":)" + endpoints + more + "}";
}

std::string entry(const std::string& uid, const std::string& conditions,
                  const std::string& node = "node-2") {
  return R"({"addresses":["10.0.0.9"],"conditions":)" + conditions + R"(,"nodeName":")" + node +
         R"(","targetRef":{"kind":"Pod","name":"p","uid":")" + uid + R"("}})";
}

SliceView parse(const std::string& text, const PodIdentity& identity = us()) {
  const net::Result<SliceView> view = parse_slice(PaddedText(text), identity);
  EXPECT_TRUE(view.ok()) << text << ": " << (view.ok() ? "" : view.error().message);
  return view.ok() ? view.value() : SliceView{};
}

std::string error_of(const std::string& text) {
  const net::Result<SliceView> view = parse_slice(PaddedText(text), us());
  EXPECT_FALSE(view.ok()) << text;
  if (view.ok()) return "";
  EXPECT_EQ(view.error().code, net::ErrorCode::kInvalid);
  return view.error().message;
}

TEST(SliceView, ReadsAWholeSlice) {
  const SliceView view = parse(R"({
    "kind": "EndpointSlice", "apiVersion": "discovery.k8s.io/v1",
    "metadata": {"name": "web-abc", "labels": {
      "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
      "app": "x", "kubernetes.io/service-name": "web"}},
    "addressType": "IPv6",
    "endpoints": [
      {"addresses": ["fd00::1"], "nodeName": "node-1", "zone": "a",
       "conditions": {"ready": false, "serving": true, "terminating": true},
       "targetRef": {"kind": "Pod", "namespace": "ns", "name": "us", "uid": "uid-us"}},
      {"addresses": ["fd00::2"], "nodeName": "node-1", "hints": {"forZones": [{"name": "a"}]},
       "conditions": {"ready": true, "serving": true, "terminating": false},
       "targetRef": {"kind": "Pod", "namespace": "ns", "name": "other", "uid": "uid-other"}}],
    "ports": [{"name": "", "port": 8080, "protocol": "TCP"}, {"name": "admin", "port": 9090}]})");
  EXPECT_EQ(view.name, "web-abc");
  EXPECT_EQ(view.service, "web");
  EXPECT_EQ(view.managed_by, "endpointslice-controller.k8s.io");
  EXPECT_EQ(view.address_type, AddressType::kIpv6);
  EXPECT_EQ(view.port_names, (std::vector<std::string>{"", "admin"}));
  ASSERT_EQ(view.own.size(), 1U);
  EXPECT_EQ(view.own[0], (OwnEndpoint{.ready = false, .serving = true, .terminating = true}));
  EXPECT_EQ(view.ready_others, 1U);
  EXPECT_EQ(view.ready_others_on_node, 1U);
}

TEST(SliceView, AbsentConditionsMeanReadyServingNotTerminating) {
  const std::string ref = R"("targetRef":{"kind":"Pod","uid":"uid-us"})";
  for (const std::string& endpoint :
       {"{" + ref + "}", R"({"conditions":null,)" + ref + "}", R"({"conditions":{},)" + ref + "}",
        R"({"conditions":{"ready":null,"serving":null,"terminating":null},)" + ref + "}"}) {
    const SliceView view = parse(slice("[" + endpoint + "]"));
    ASSERT_EQ(view.own.size(), 1U) << endpoint;
    EXPECT_EQ(view.own[0], OwnEndpoint{}) << endpoint;
  }
}

TEST(SliceView, ReadsEachConditionAlone) {
  const auto own = [](const std::string& conditions) {
    return parse(slice("[" + entry("uid-us", conditions) + "]")).own.at(0);
  };
  EXPECT_EQ(own(R"({"ready":false})"), (OwnEndpoint{.ready = false}));
  EXPECT_EQ(own(R"({"serving":false})"), (OwnEndpoint{.serving = false}));
  EXPECT_EQ(own(R"({"terminating":true})"), (OwnEndpoint{.terminating = true}));
}

TEST(SliceView, NullAndAbsentListsAreEmpty) {
  for (const std::string& text :
       {slice("null"), slice("[]"), slice("null", R"(,"ports":null)"),
        slice("[]", R"(,"ports":[])"),
        std::string(R"({"metadata":{"name":"s","labels":null},"addressType":"IPv4"})")}) {
    const SliceView view = parse(text);
    EXPECT_TRUE(view.own.empty());
    EXPECT_TRUE(view.port_names.empty());
    EXPECT_EQ(view.ready_others, 0U);
  }
}

TEST(SliceView, UnnamedPortsCountByTheirPlace) {
  EXPECT_EQ(
      parse(slice("[]", R"(,"ports":[{"name":null,"port":1},{"port":2},{"name":"x"}])")).port_names,
      (std::vector<std::string>{"", "", "x"}));
}

TEST(SliceView, KeysMayComeInAnyOrder) {
  const SliceView view = parse(
      R"({"ports":[{"port":1,"name":"web"}],"endpoints":[{"targetRef":{"uid":"uid-us","kind":"Pod"},)"
      R"("conditions":{"terminating":true,"ready":false}}],"addressType":"FQDN",)"
      R"("metadata":{"labels":{"kubernetes.io/service-name":"web"},"name":"s"},)"
      R"("kind":"EndpointSlice"})");
  EXPECT_EQ(view.own.size(), 1U);
  EXPECT_EQ(view.service, "web");
  EXPECT_EQ(view.address_type, AddressType::kFqdn);
}

TEST(SliceView, CountsReadyOthersOnly) {
  const SliceView view = parse(
      slice("[" + entry("a", R"({"ready":true})") + "," + entry("b", R"({"ready":false})") + "," +
            entry("c", "{}", "node-1") + "," + entry("d", R"({"ready":false})", "node-1") + "," +
            entry("uid-us", R"({"ready":true})", "node-1") + "]"));
  EXPECT_EQ(view.ready_others, 2U);
  EXPECT_EQ(view.ready_others_on_node, 1U);
  EXPECT_EQ(view.own.size(), 1U);
}

TEST(SliceView, OurUidMayStandInSeveralEntries) {
  const SliceView view = parse(slice("[" + entry("uid-us", R"({"ready":true})") + "," +
                                     entry("uid-us", R"({"ready":false})") + "]"));
  EXPECT_EQ(view.own.size(), 2U);
}

TEST(SliceView, AnotherPodWithOurAddressIsNotUs) {
  const SliceView view = parse(slice(
      R"([{"addresses":["10.0.0.1"],"targetRef":{"kind":"Pod","uid":"uid-of-the-next-owner"}}])"));
  EXPECT_TRUE(view.own.empty());
  EXPECT_EQ(view.ready_others, 1U);
}

TEST(SliceView, WithoutAUidTheAddressDecides) {
  for (const char* endpoint :
       {R"([{"addresses":["10.0.0.1"]}])", R"([{"addresses":["10.0.0.1"],"targetRef":null}])",
        R"([{"addresses":["10.0.0.9","10.0.0.1"]}])",
        R"([{"addresses":["10.0.0.1"],"targetRef":{"kind":"Pod","name":"p"}}])"}) {
    EXPECT_EQ(parse(slice(endpoint)).own.size(), 1U) << endpoint;
  }
  EXPECT_TRUE(parse(slice(R"([{"addresses":["10.0.0.11"]},{"addresses":null}])")).own.empty());
}

TEST(SliceView, ATargetThatIsNoPodIsNotUs) {
  EXPECT_TRUE(
      parse(slice(R"([{"addresses":["10.0.0.1"],"targetRef":{"kind":"Node","uid":"uid-us"}}])"))
          .own.empty());
}

TEST(SliceView, OnTheHostNetworkThePortDecidesToo) {
  PodIdentity identity = us();
  identity.host_network = true;
  const std::string endpoint = R"([{"addresses":["10.0.0.1"],"nodeName":"node-1"}])";
  EXPECT_EQ(parse(slice(endpoint, R"(,"ports":[{"port":8080}])"), identity).own.size(), 1U);
  const SliceView other = parse(slice(endpoint, R"(,"ports":[{"port":9999}])"), identity);
  EXPECT_TRUE(other.own.empty());
  EXPECT_EQ(other.ready_others, 1U);
  EXPECT_EQ(other.ready_others_on_node, 1U);
  // Nothing to tell by: rather ours than overlooked.
  EXPECT_EQ(parse(slice(endpoint, R"(,"ports":[])"), identity).own.size(), 1U);
  EXPECT_EQ(parse(slice(endpoint, R"(,"ports":[{"port":null}])"), identity).own.size(), 1U);
  identity.ports.clear();
  EXPECT_EQ(parse(slice(endpoint, R"(,"ports":[{"port":9999}])"), identity).own.size(), 1U);
}

TEST(SliceView, EscapedStringsAreUnderstood) {
  const SliceView view =
      parse(R"({"metadata":{"name":"a\u002db"},"addressType":"IPv\u0034",)"
            R"("endpoints":[{"targetRef":{"kind":"Pod","uid":"uid\u002dus"}}]})");
  EXPECT_EQ(view.name, "a-b");
  EXPECT_EQ(view.own.size(), 1U);
}

TEST(SliceView, NamesTheFieldOfTheWrongType) {
  EXPECT_EQ(error_of(slice("{}")), "EndpointSlice: endpoints is not an array");
  EXPECT_EQ(error_of(slice("[1]")), "EndpointSlice: endpoints[] is not an object");
  EXPECT_EQ(error_of(slice(R"([{"conditions":{"ready":"yes"}}])")),
            "EndpointSlice: endpoints[].conditions.ready is not a boolean");
  EXPECT_EQ(error_of(slice(R"([{"addresses":["a",7]}])")),
            "EndpointSlice: endpoints[].addresses[] is not a string");
  EXPECT_EQ(error_of(slice(R"([{"targetRef":{"uid":7}}])")),
            "EndpointSlice: endpoints[].targetRef.uid is not a string");
  EXPECT_EQ(error_of(slice("[]", R"(,"ports":[{"port":"x"}])")),
            "EndpointSlice: ports[].port is not an integer");
  EXPECT_EQ(error_of(R"({"metadata":{"name":"s"},"addressType":"IPX"})"),
            "EndpointSlice: addressType is not IPv4, IPv6 or FQDN");
  EXPECT_EQ(error_of(R"({"metadata":{},"addressType":"IPv4"})"),
            "EndpointSlice: metadata.name is not there");
  EXPECT_EQ(error_of(R"({"kind":"Pod","metadata":{"name":"s"},"addressType":"IPv4"})"),
            "EndpointSlice: kind is not EndpointSlice");
}

TEST(SliceView, RefusesWhatIsNotJson) {
  const std::string good = slice("[" + entry("uid-us", R"({"ready":true})") + "]");
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(parse_slice(PaddedText(std::string_view(good).substr(0, size)), us()).ok())
        << size;
  }
  for (const std::string& text :
       {good + "}", good + "{}", good + " x", std::string("[]"), std::string("null"),
        std::string("\xff\xfe"), slice("[{]"), slice(R"([{"addresses":["x"},]})")}) {
    EXPECT_FALSE(parse_slice(PaddedText(text), us()).ok()) << text;
  }
}

TEST(SliceView, AParserServesManySlices) {
  SliceParser parser;
  for (int size = 0; size < 300; size += 7) {
    std::string endpoints = "[" + entry("uid-us", R"({"ready":false})");
    for (int i = 0; i < size; ++i) endpoints += "," + entry("other", "{}");
    const net::Result<SliceView> view = parser.parse(PaddedText(slice(endpoints + "]")), us());
    ASSERT_TRUE(view.ok());
    EXPECT_EQ(view.value().own.size(), 1U);
    EXPECT_EQ(view.value().ready_others, static_cast<std::uint32_t>(size));
    EXPECT_FALSE(parser.parse(PaddedText("{"), us()).ok());
  }
}

}  // namespace
}  // namespace lastcall::k8s
