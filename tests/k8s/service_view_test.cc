#include "k8s/service_view.h"

#include <string>

#include <gtest/gtest.h>

namespace lastcall::k8s {
namespace {

ServiceView parse(const std::string& spec) {
  const std::string text = R"({"metadata":{"name":"web"},"spec":)" + spec + "}";
  const net::Result<ServiceView> view = parse_service(PaddedText(text));
  EXPECT_TRUE(view.ok()) << text << ": " << (view.ok() ? "" : view.error().message);
  return view.ok() ? view.value() : ServiceView{};
}

std::string error_of(const std::string& text) {
  const net::Result<ServiceView> view = parse_service(PaddedText(text));
  EXPECT_FALSE(view.ok()) << text;
  return view.ok() ? "" : view.error().message;
}

TEST(ServiceView, ReadsAnOrdinaryService) {
  const ServiceView view = parse(
      R"({"type":"ClusterIP","clusterIP":"10.96.0.10","selector":{"app":"web","tier":"front"},)"
      R"("internalTrafficPolicy":"Cluster","ports":[{"port":80}]})");
  EXPECT_EQ(view.name, "web");
  EXPECT_EQ(view.selector, (Labels{{"app", "web"}, {"tier", "front"}}));
  EXPECT_FALSE(view.external_name);
  EXPECT_FALSE(view.headless);
  EXPECT_FALSE(view.publish_not_ready);
  EXPECT_FALSE(view.local_only);
}

TEST(ServiceView, KnowsTheSpecialKinds) {
  EXPECT_TRUE(parse(R"({"type":"ExternalName"})").external_name);
  EXPECT_TRUE(parse(R"({"clusterIP":"None"})").headless);
  EXPECT_TRUE(parse(R"({"publishNotReadyAddresses":true})").publish_not_ready);
  EXPECT_TRUE(parse(R"({"externalTrafficPolicy":"Local"})").local_only);
  EXPECT_TRUE(
      parse(R"({"internalTrafficPolicy":"Local","externalTrafficPolicy":"Cluster"})").local_only);
}

TEST(ServiceView, SelectsByAllOfItsLabels) {
  const ServiceView view = parse(R"({"selector":{"app":"web","tier":"front"}})");
  EXPECT_TRUE(view.selects({{"app", "web"}, {"tier", "front"}, {"more", "x"}}));
  EXPECT_FALSE(view.selects({{"app", "web"}}));
  EXPECT_FALSE(view.selects({{"app", "web"}, {"tier", "back"}}));
}

TEST(ServiceView, SelectsNobodyWithoutASelector) {
  for (const char* spec : {"null", "{}", R"({"selector":null})", R"({"selector":{}})"}) {
    EXPECT_FALSE(parse(spec).selects({{"app", "web"}})) << spec;
  }
}

TEST(ServiceView, KeepsOnlyTheAnnotationsThatAreForUs) {
  const net::Result<ServiceView> view = parse_service(PaddedText(
      R"({"metadata":{"annotations":{"lastcall/settle":"5s","x":"y","lastcall":"n"},"name":"s"}})"));
  ASSERT_TRUE(view.ok());
  EXPECT_EQ(view.value().annotations,
            (std::map<std::string, std::string>{{"lastcall/settle", "5s"}}));
  EXPECT_TRUE(parse("{}").annotations.empty());
}

TEST(ServiceView, NamesTheFieldOfTheWrongType) {
  EXPECT_EQ(error_of(R"({"metadata":{"name":"s"},"spec":{"selector":["a"]}})"),
            "Service: spec.selector is not an object");
  EXPECT_EQ(error_of(R"({"metadata":{"name":"s","annotations":["a"]}})"),
            "Service: metadata.annotations is not an object");
  EXPECT_EQ(error_of(R"({"metadata":{"name":"s"},"spec":{"clusterIP":1}})"),
            "Service: spec.clusterIP is not a string");
  EXPECT_EQ(error_of(R"({"metadata":{"name":"s"},"kind":"Pod"})"), "Service: kind is not Service");
  EXPECT_EQ(error_of(R"({"spec":{}})"), "Service: metadata.name is not there");
  EXPECT_EQ(error_of("nonsense").substr(0, 17), "Service: not JSON");
}

}  // namespace
}  // namespace lastcall::k8s
