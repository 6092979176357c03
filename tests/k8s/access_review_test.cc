#include "k8s/access_review.h"

#include <nlohmann/json.hpp>
#include <string>

#include <gtest/gtest.h>

namespace lastcall::k8s {
namespace {

AccessAnswer parse(const std::string& text) {
  const net::Result<AccessAnswer> answer = parse_access_review(PaddedText(text));
  EXPECT_TRUE(answer.ok()) << text << ": " << (answer.ok() ? "" : answer.error().message);
  return answer.ok() ? answer.value() : AccessAnswer{};
}

std::string error_of(const std::string& text) {
  const net::Result<AccessAnswer> answer = parse_access_review(PaddedText(text));
  EXPECT_FALSE(answer.ok()) << text;
  return answer.ok() ? "" : answer.error().message;
}

TEST(AccessReview, AsksAboutOneResourceOfANamespace) {
  EXPECT_EQ(access_review_body({.verb = "list",
                                .group = "discovery.k8s.io",
                                .resource = "endpointslices",
                                .subresource = "",
                                .pod_namespace = "shop",
                                .name = ""}),
            R"({"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview",)"
            R"("spec":{"resourceAttributes":{"namespace":"shop","verb":"list",)"
            R"("group":"discovery.k8s.io","resource":"endpointslices"}}})");
}

TEST(AccessReview, AsksAboutOneObjectOfTheCluster) {
  const auto body = nlohmann::json::parse(access_review_body({.verb = "get",
                                                              .group = "",
                                                              .resource = "nodes",
                                                              .subresource = "status",
                                                              .pod_namespace = "",
                                                              .name = "node-1"}));
  EXPECT_EQ(
      body["spec"]["resourceAttributes"],
      (nlohmann::json{
          {"verb", "get"}, {"resource", "nodes"}, {"subresource", "status"}, {"name", "node-1"}}));
}

TEST(AccessReview, WritesJsonWhateverTheNames) {
  const std::string odd = "a\"\n\xff";
  const auto body = nlohmann::json::parse(access_review_body({.verb = odd,
                                                              .group = odd,
                                                              .resource = odd,
                                                              .subresource = odd,
                                                              .pod_namespace = odd,
                                                              .name = odd}));
  EXPECT_EQ(body["spec"]["resourceAttributes"]["verb"], "a\"\n\xEF\xBF\xBD");
}

TEST(AccessReview, ReadsTheAnswer) {
  const AccessAnswer yes = parse(R"({"kind":"SelfSubjectAccessReview",
    "apiVersion":"authorization.k8s.io/v1","metadata":{},
    "spec":{"resourceAttributes":{"verb":"get","resource":"pods"}},
    "status":{"allowed":true,"reason":"RBAC: allowed by RoleBinding \"lastcall/shop\""}})");
  EXPECT_TRUE(yes.allowed);
  EXPECT_EQ(yes.reason, R"(RBAC: allowed by RoleBinding "lastcall/shop")");

  const AccessAnswer no = parse(R"({"status":{"allowed":false}})");
  EXPECT_FALSE(no.allowed);
  EXPECT_EQ(no.reason, "");
}

TEST(AccessReview, SaysWhatWentWrongWhenTheServerCouldNotSay) {
  EXPECT_EQ(parse(R"({"status":{"allowed":false,"evaluationError":"role not found"}})").reason,
            "role not found");
  EXPECT_EQ(parse(R"({"status":{"allowed":false,"reason":"no","evaluationError":"e"}})").reason,
            "no");
}

TEST(AccessReview, WithoutAnAnswerIsNone) {
  for (const char* text : {"{}", R"({"status":null})", R"({"status":{}})"}) {
    EXPECT_EQ(error_of(text), "SelfSubjectAccessReview: status.allowed is not there") << text;
  }
}

TEST(AccessReview, NamesTheFieldOfTheWrongType) {
  EXPECT_EQ(error_of(R"({"status":{"allowed":"true"}})"),
            "SelfSubjectAccessReview: status.allowed is not a boolean");
  EXPECT_EQ(error_of(R"({"kind":"Status","status":{"allowed":true}})"),
            "SelfSubjectAccessReview: kind is not SelfSubjectAccessReview");
  EXPECT_EQ(error_of("no").substr(0, 33), "SelfSubjectAccessReview: not JSON");
}

}  // namespace
}  // namespace lastcall::k8s
