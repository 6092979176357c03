#include "k8s/lister.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/fakes/fake_loop.h"
#include "tests/fakes/scripted_http.h"

namespace lastcall::k8s {
namespace {

std::string page(const std::string& items, const std::string& metadata,
                 const std::string& kind = "EndpointSliceList") {
  return R"({"kind":")" + kind + R"(","metadata":)" + metadata + R"(,"items":)" + items + "}";
}

class ListerTest : public testing::Test {
 protected:
  void list() {
    ListRequest request;
    request.path = "/apis/discovery.k8s.io/v1/namespaces/ns/endpointslices";
    request.resource = "endpointslices";
    request.label_selector = "kubernetes.io/service-name in (a,b)";
    request.kind = "EndpointSliceList";
    Lister::Callbacks callbacks;
    callbacks.on_begin = [this] {
      ++begins_;
      items_.clear();
    };
    callbacks.on_item = [this](const PaddedText& item) {
      items_.emplace_back(item.view());
      return item_status_;
    };
    callbacks.done = [this](net::Result<std::string> result) {
      EXPECT_FALSE(result_);
      result_ = std::move(result);
      lister_.reset();
    };
    lister_ = std::make_unique<Lister>(client_, std::move(request), std::move(callbacks));
  }
  void expect_error(net::ErrorCode code, const std::string& message) {
    ASSERT_TRUE(result_ && !result_->ok());
    EXPECT_EQ(result_->error().code, code);
    EXPECT_EQ(result_->error().message, message);
  }

  fakes::FakeLoop loop_;
  fakes::ScriptedHttp http_{loop_};
  ApiClient client_{loop_, http_, {"http://api", "", ""}};
  std::unique_ptr<Lister> lister_;
  int begins_ = 0;
  std::vector<std::string> items_;
  net::Status item_status_ = net::Done{};
  std::optional<net::Result<std::string>> result_;
};

TEST_F(ListerTest, ListsOnePage) {
  list();
  EXPECT_EQ(http_.last().path(),
            "/apis/discovery.k8s.io/v1/namespaces/ns/endpointslices?limit=500"
            "&labelSelector=kubernetes.io%2Fservice-name%20in%20%28a%2Cb%29");
  EXPECT_EQ(begins_, 0);
  http_.last().answer(200, page(R"([{"a":1},{"b":2}])", R"({"resourceVersion":"42"})"));
  ASSERT_TRUE(result_ && result_->ok());
  EXPECT_EQ(result_->value(), "42");
  EXPECT_EQ(begins_, 1);
  EXPECT_EQ(items_, (std::vector<std::string>{R"({"a":1})", R"({"b":2})"}));
}

TEST_F(ListerTest, FollowsContinueTokens) {
  list();
  http_.last().answer(200, page("[{}]", R"({"resourceVersion":"42","continue":"a+b/c="})"));
  ASSERT_EQ(http_.count(), 2U);
  EXPECT_TRUE(http_.last().path().ends_with("&continue=a%2Bb%2Fc%3D")) << http_.last().path();
  EXPECT_FALSE(result_);
  http_.last().answer(200, page("[{},{}]", R"({"resourceVersion":"42","continue":""})"));
  ASSERT_TRUE(result_ && result_->ok());
  EXPECT_EQ(begins_, 1);
  EXPECT_EQ(items_.size(), 3U);
}

TEST_F(ListerTest, AnExpiredContinueTokenBeginsAgain) {
  list();
  http_.last().answer(200, page("[{}]", R"({"resourceVersion":"42","continue":"x"})"));
  http_.last().answer(410, "");
  ASSERT_EQ(http_.count(), 3U);
  EXPECT_EQ(http_.last().path().find("continue"), std::string::npos);
  http_.last().answer(200, page("[{}]", R"({"resourceVersion":"50"})"));
  ASSERT_TRUE(result_ && result_->ok());
  EXPECT_EQ(result_->value(), "50");
  EXPECT_EQ(begins_, 2);
  EXPECT_EQ(items_.size(), 1U);
}

TEST_F(ListerTest, BeginsAgainTwiceAtMost) {
  list();
  for (int i = 0; i < 3; ++i) {
    http_.last().answer(200, page("[]", R"({"resourceVersion":"42","continue":"x"})"));
    http_.last().answer(410, "");
  }
  EXPECT_EQ(http_.count(), 6U);
  expect_error(net::ErrorCode::kRelist, "list endpointslices: HTTP 410");
}

TEST_F(ListerTest, A410OnTheFirstPageIsAnError) {
  list();
  http_.last().answer(410, "");
  EXPECT_EQ(http_.count(), 1U);
  expect_error(net::ErrorCode::kRelist, "list endpointslices: HTTP 410");
}

TEST_F(ListerTest, BoundsTheNumberOfPages) {
  list();
  while (!result_ && http_.count() < 5000) {
    http_.last().answer(200, page("[]", R"({"resourceVersion":"42","continue":"x"})"));
  }
  EXPECT_EQ(http_.count(), 1001U);
  expect_error(net::ErrorCode::kInvalid, "list endpointslices: too many pages");
}

TEST_F(ListerTest, RefusesAnotherKind) {
  list();
  http_.last().answer(200, page("[]", R"({"resourceVersion":"42"})", "PodList"));
  expect_error(net::ErrorCode::kInvalid,
               "list endpointslices: the answer's kind is not EndpointSliceList");
}

TEST_F(ListerTest, RefusesAListWithoutAResourceVersion) {
  for (const char* metadata : {"{}", R"({"resourceVersion":""})", R"({"resourceVersion":null})"}) {
    result_.reset();
    list();
    http_.last().answer(200, page("[]", metadata));
    expect_error(net::ErrorCode::kInvalid,
                 "list endpointslices: metadata: resourceVersion is not there");
  }
  result_.reset();
  list();
  http_.last().answer(200, page("[]", R"({"resourceVersion":7})"));
  expect_error(net::ErrorCode::kInvalid,
               "list endpointslices: metadata: resourceVersion is not a string");
}

TEST_F(ListerTest, RefusesGarbageAtOnce) {
  list();
  http_.last().head(200);
  http_.last().body("[1,2");
  expect_error(net::ErrorCode::kInvalid,
               "list endpointslices: not a list: no '{' where one must be");
  EXPECT_TRUE(http_.last().cancelled());
}

TEST_F(ListerTest, RefusesAListCutShort) {
  list();
  http_.last().answer(200, R"({"kind":"EndpointSliceList","items":[)");
  expect_error(net::ErrorCode::kInvalid, "list endpointslices: not a list: it ends early");
}

TEST_F(ListerTest, AnItemsErrorEndsIt) {
  item_status_ = net::Error{net::ErrorCode::kInvalid, "bad item", std::nullopt};
  list();
  http_.last().answer(200, page("[{},{}]", R"({"resourceVersion":"42"})"));
  EXPECT_EQ(items_.size(), 1U);
  expect_error(net::ErrorCode::kInvalid, "list endpointslices: bad item");
}

TEST_F(ListerTest, PassesOtherErrorsOn) {
  list();
  http_.last().answer(403, R"({"kind":"Status","message":"endpointslices is forbidden"})");
  expect_error(net::ErrorCode::kForbidden,
               "list endpointslices: HTTP 403: endpointslices is forbidden");
}

TEST_F(ListerTest, CancelsWhenDestroyed) {
  list();
  http_.last().head(200);
  lister_.reset();
  EXPECT_TRUE(http_.last().cancelled());
  EXPECT_FALSE(result_);
}

TEST_F(ListerTest, EverySplitOfTheAnswerGivesTheSame) {
  const std::string text =
      page(R"([{"a":"\"}"},{"b":[{"c":1}]}])", R"({"resourceVersion":"42"})") + "\n";
  for (std::size_t at = 0; at <= text.size(); ++at) {
    result_.reset();
    list();
    http_.last().head(200);
    http_.last().body(std::string_view(text).substr(0, at));
    http_.last().body(std::string_view(text).substr(at));
    http_.last().end();
    ASSERT_TRUE(result_ && result_->ok()) << at;
    ASSERT_EQ(items_, (std::vector<std::string>{R"({"a":"\"}"})", R"({"b":[{"c":1}]})"})) << at;
  }
}

}  // namespace
}  // namespace lastcall::k8s
