#include "k8s/api_client.h"

#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/fakes/fake_loop.h"
#include "tests/fakes/scripted_http.h"

namespace lastcall::k8s {
namespace {

using namespace std::chrono_literals;
using fakes::FakeLoop;
using fakes::ScriptedHttp;

// What a handler heard.
class Heard final : public ApiHandler {
 public:
  void on_start(std::optional<net::WallTime> when) override {
    started = true;
    date = when;
    if (drop_at_start) call.reset();
  }
  void on_body(std::string_view chunk) override {
    body += chunk;
    if (drop_at_body) call.reset();
  }
  void on_end(const net::Status& outcome) override {
    ++ends;
    if (!outcome.ok()) error = outcome.error();
    call.reset();
  }

  bool started = false;
  std::optional<net::WallTime> date;
  std::string body;
  int ends = 0;
  std::optional<net::Error> error;
  bool drop_at_start = false;
  bool drop_at_body = false;
  std::unique_ptr<ApiCall> call;
};

class ApiClientTest : public testing::Test {
 protected:
  ApiClientTest() {
    write_token("token-1");
    reconnect(token_file_);
  }
  ~ApiClientTest() override { std::remove(token_file_.c_str()); }

  void reconnect(const std::string& token_file) {
    client_ = std::make_unique<ApiClient>(loop_, http_,
                                          Cluster{"https://10.96.0.1:443", token_file, "/ca.crt"});
    client_->on_report([this](const RequestReport& report) { reports_.push_back(report); });
  }
  void write_token(const std::string& token) { std::ofstream(token_file_) << token << "\n"; }

  void ask(ApiRequest request = pods()) {
    heard_.call = client_->stream(std::move(request), heard_);
  }
  static ApiRequest pods() {
    ApiRequest request;
    request.path = "/api/v1/pods/x";
    request.verb = "get";
    request.resource = "pods";
    return request;
  }
  net::Error error_for(int status, const std::string& body, net::Headers headers = {},
                       const std::string& type = "application/json") {
    heard_ = Heard();
    ask();
    http_.last().answer(status, body, std::move(headers), type);
    EXPECT_EQ(heard_.ends, 1);
    EXPECT_FALSE(heard_.started);
    EXPECT_TRUE(heard_.error);
    return heard_.error.value_or(net::Error{});
  }
  static net::Headers retry_after(const std::string& value) {
    net::Headers headers;
    headers.add("retry-after", value);
    return headers;
  }

  const std::string token_file_ =
      testing::TempDir() + "lastcall_token_" +
      std::to_string(::testing::UnitTest::GetInstance()->random_seed()) +
      testing::UnitTest::GetInstance()->current_test_info()->name();
  FakeLoop loop_;
  ScriptedHttp http_{loop_};
  std::unique_ptr<ApiClient> client_;
  std::vector<RequestReport> reports_;
  Heard heard_;
};

TEST_F(ApiClientTest, SendsItsCredentialsAndNoAcceptEncoding) {
  ask();
  ASSERT_EQ(http_.count(), 1U);
  EXPECT_EQ(http_.last().request.url, "https://10.96.0.1:443/api/v1/pods/x");
  EXPECT_EQ(http_.last().request.ca_file, "/ca.crt");
  EXPECT_EQ(http_.last().header("Authorization"), "Bearer token-1");
  EXPECT_EQ(http_.last().header("Accept"), "application/json");
  EXPECT_EQ(http_.last().header("User-Agent"), "lastcall");
  EXPECT_EQ(http_.last().request.headers.find("Accept-Encoding"), nullptr);
  EXPECT_EQ(http_.last().request.headers.find("Content-Type"), nullptr);
}

TEST_F(ApiClientTest, SendsABodyAsJson) {
  ApiRequest request = pods();
  request.method = "POST";
  request.body = "{}";
  ask(std::move(request));
  EXPECT_EQ(http_.last().request.method, "POST");
  EXPECT_EQ(http_.last().request.body, "{}");
  EXPECT_EQ(http_.last().header("Content-Type"), "application/json");
}

TEST_F(ApiClientTest, WithoutATokenFileItSendsNoAuthorization) {
  reconnect("");
  ask();
  EXPECT_EQ(http_.last().request.headers.find("Authorization"), nullptr);
  http_.last().answer(401, "");
  EXPECT_EQ(http_.count(), 1U);
  EXPECT_EQ(heard_.error->code, net::ErrorCode::kReauthenticate);
}

TEST_F(ApiClientTest, StreamsAnAnswer) {
  ask();
  loop_.advance(7ms);
  http_.last().head(200);
  EXPECT_TRUE(heard_.started);
  EXPECT_EQ(heard_.date,
            net::WallTime(std::chrono::sys_days(std::chrono::year(2026) / 1 / 2)) + 3h + 4min + 5s);
  http_.last().body("{\"a\"");
  http_.last().body(":1}");
  EXPECT_EQ(heard_.body, "{\"a\":1}");
  loop_.advance(1s);
  http_.last().end();
  EXPECT_EQ(heard_.ends, 1);
  EXPECT_FALSE(heard_.error);
  ASSERT_EQ(reports_.size(), 1U);
  EXPECT_EQ(reports_[0].verb, "get");
  EXPECT_EQ(reports_[0].resource, "pods");
  EXPECT_EQ(reports_[0].status, 200);
  EXPECT_EQ(reports_[0].first_byte, 7ms);
}

TEST_F(ApiClientTest, TheCallMayBeDroppedInAnyCallback) {
  heard_.drop_at_start = true;
  ask();
  http_.last().answer(200, "{}");
  EXPECT_TRUE(http_.last().cancelled());
  EXPECT_EQ(heard_.body, "");
  heard_ = Heard();
  heard_.drop_at_body = true;
  ask();
  http_.last().answer(200, "{}");
  EXPECT_EQ(heard_.body, "{}");
  EXPECT_EQ(heard_.ends, 0);
  EXPECT_TRUE(reports_.empty());
}

TEST_F(ApiClientTest, A401ReadsTheTokenAgainAndSendsOnceMore) {
  ask();
  write_token("token-2");
  http_.last().answer(401, "Unauthorized", {}, "text/plain");
  ASSERT_EQ(http_.count(), 2U);
  EXPECT_EQ(http_.last().header("Authorization"), "Bearer token-2");
  EXPECT_EQ(heard_.ends, 0);
  http_.last().answer(200, "{}");
  EXPECT_EQ(heard_.body, "{}");
  EXPECT_FALSE(heard_.error);
  ASSERT_EQ(reports_.size(), 2U);
  EXPECT_EQ(reports_[0].status, 401);
  EXPECT_EQ(reports_[1].status, 200);
}

TEST_F(ApiClientTest, ASecond401IsTheAnswer) {
  ask();
  http_.last().answer(401, "");
  http_.last().answer(401, R"({"kind":"Status","message":"Unauthorized","code":401})");
  EXPECT_EQ(http_.count(), 2U);
  EXPECT_EQ(heard_.ends, 1);
  EXPECT_EQ(heard_.error->code, net::ErrorCode::kReauthenticate);
  EXPECT_EQ(heard_.error->message, "get pods: HTTP 401: Unauthorized");
}

TEST_F(ApiClientTest, AMissingTokenEndsTheCallButNotFromInside) {
  std::remove(token_file_.c_str());
  reconnect(token_file_);
  ask();
  EXPECT_EQ(http_.count(), 0U);
  EXPECT_EQ(heard_.ends, 0);
  loop_.run_until_idle();
  EXPECT_EQ(heard_.ends, 1);
  EXPECT_EQ(heard_.error->code, net::ErrorCode::kFatal);
}

TEST_F(ApiClientTest, ACancelledCallWithAMissingTokenStaysSilent) {
  std::remove(token_file_.c_str());
  reconnect(token_file_);
  ask();
  heard_.call.reset();
  loop_.run_until_idle();
  EXPECT_EQ(heard_.ends, 0);
}

TEST_F(ApiClientTest, NetworkTroubleIsRetry) {
  ask();
  http_.last().fail(net::ErrorCode::kRetry, "connection refused");
  EXPECT_EQ(heard_.error->code, net::ErrorCode::kRetry);
  EXPECT_EQ(heard_.error->message, "get pods: connection refused");
  EXPECT_EQ(reports_.at(0).status, 0);
}

TEST_F(ApiClientTest, ACutAnswerIsNotComplete) {
  ask();
  http_.last().head(200);
  http_.last().body("{");
  http_.last().fail(net::ErrorCode::kRetry, "reset");
  EXPECT_EQ(heard_.error->code, net::ErrorCode::kRetry);
}

TEST_F(ApiClientTest, MapsStatusToWhatToDo) {
  EXPECT_EQ(error_for(403, "").code, net::ErrorCode::kForbidden);
  EXPECT_EQ(error_for(404, "").code, net::ErrorCode::kNotFound);
  EXPECT_EQ(error_for(410, "").code, net::ErrorCode::kRelist);
  EXPECT_EQ(error_for(429, "").code, net::ErrorCode::kRetry);
  EXPECT_EQ(error_for(500, "").code, net::ErrorCode::kRetry);
  EXPECT_EQ(error_for(504, "").code, net::ErrorCode::kRetry);
  EXPECT_EQ(error_for(400, "").code, net::ErrorCode::kInvalid);
  EXPECT_EQ(error_for(422, "").code, net::ErrorCode::kInvalid);
  EXPECT_EQ(error_for(302, "").code, net::ErrorCode::kInvalid);
}

TEST_F(ApiClientTest, TellsTheServersReason) {
  EXPECT_EQ(error_for(403, R"({"kind":"Status","apiVersion":"v1","status":"Failure","message":)"
                           R"("pods \"x\" is forbidden","reason":"Forbidden","code":403})")
                .message,
            "get pods: HTTP 403: pods \"x\" is forbidden");
  EXPECT_EQ(error_for(410, R"({"kind":"Status","reason":"Expired"})").message,
            "get pods: HTTP 410: Expired");
  EXPECT_EQ(error_for(503, "").message, "get pods: HTTP 503");
  EXPECT_EQ(error_for(502, "\n\n<html>\n<body>", {}, "text/html").message,
            "get pods: HTTP 502: <html>");
  EXPECT_EQ(error_for(500, R"({"kind":"Other","message":"x"})").message,
            R"(get pods: HTTP 500: {"kind":"Other","message":"x"})");
}

TEST_F(ApiClientTest, MessagesAreOnePrintableLineOfBoundedLength) {
  EXPECT_EQ(error_for(500, "a\tb\x1b[31m\x80z\nc").message, "get pods: HTTP 500: a b [31m z");
  EXPECT_EQ(error_for(500, std::string(5000, 'x')).message,
            "get pods: HTTP 500: " + std::string(200, 'x') + "...");
  EXPECT_EQ(error_for(500, R"({"kind":"Status","message":"a\nb"})").message,
            "get pods: HTTP 500: a b");
}

TEST_F(ApiClientTest, AnEndlessErrorBodyIsCut) {
  ask();
  http_.last().head(500);
  const std::string chunk(10'000, 'x');
  int chunks = 0;
  while (http_.last().open() && chunks < 1000) {
    http_.last().body(chunk);
    ++chunks;
  }
  EXPECT_EQ(chunks, 7);
  EXPECT_EQ(heard_.ends, 1);
  EXPECT_EQ(heard_.error->code, net::ErrorCode::kRetry);
}

TEST_F(ApiClientTest, TheTokenIsInNoMessage) {
  EXPECT_EQ(error_for(400, "bad header: Bearer token-1", {}, "text/plain").message,
            "get pods: HTTP 400");
}

TEST_F(ApiClientTest, HonoursRetryAfter) {
  EXPECT_EQ(error_for(429, "Too many requests", retry_after("3"), "text/plain").retry_after, 3s);
  EXPECT_EQ(error_for(503, "", retry_after("7")).retry_after, 7s);
  EXPECT_EQ(error_for(429, "", retry_after("86400")).retry_after, 60s);
  EXPECT_EQ(error_for(429, "", retry_after("-1")).retry_after, std::nullopt);
  EXPECT_EQ(error_for(429, "", retry_after("99999999999999999999")).retry_after, std::nullopt);
  EXPECT_EQ(error_for(429, "", retry_after("Fri, 02 Jan 2026 03:04:05 GMT")).retry_after,
            std::nullopt);
  EXPECT_EQ(error_for(400, "", retry_after("3")).retry_after, std::nullopt);
  const std::string status = R"({"kind":"Status","details":{"retryAfterSeconds":4},"code":429})";
  EXPECT_EQ(error_for(429, status).retry_after, 4s);
  EXPECT_EQ(error_for(429, status, retry_after("2")).retry_after, 2s);
}

TEST_F(ApiClientTest, ASuccessThatIsNotJsonIsInvalid) {
  for (const char* type : {"text/html", "", "application/jsonp", "application/vnd.kubernetes"}) {
    EXPECT_EQ(error_for(200, "<html>", {}, type).code, net::ErrorCode::kInvalid) << type;
  }
  for (const char* type :
       {"application/json", "Application/JSON; charset=utf-8", "application/json;stream=watch"}) {
    heard_ = Heard();
    ask();
    http_.last().answer(200, "{}", {}, type);
    EXPECT_FALSE(heard_.error) << type;
  }
}

TEST_F(ApiClientTest, FetchCollectsTheBody) {
  std::optional<net::Result<ApiAnswer>> result;
  loop_.advance(1s);
  const net::Instant asked = loop_.now();
  auto call = client_->fetch(pods(), 100, [&](net::Result<ApiAnswer> r) { result = std::move(r); });
  loop_.advance(20ms);
  http_.last().head(200);
  loop_.advance(20ms);
  http_.last().body("{\"a\"");
  http_.last().body(":1}");
  EXPECT_FALSE(result);
  http_.last().end();
  ASSERT_TRUE(result && result->ok());
  EXPECT_EQ(result->value().body.view(), "{\"a\":1}");
  EXPECT_EQ(result->value().asked_at, asked);
  EXPECT_EQ(result->value().answered_at, asked + 20ms);
  EXPECT_TRUE(result->value().date);
}

TEST_F(ApiClientTest, FetchBoundsTheBody) {
  std::optional<net::Result<ApiAnswer>> result;
  std::unique_ptr<ApiCall> call;
  const auto ask_bounded = [&] {
    call = client_->fetch(pods(), 4, [&](net::Result<ApiAnswer> r) {
      result = std::move(r);
      call.reset();
    });
  };
  ask_bounded();
  http_.last().answer(200, "1234");
  EXPECT_TRUE(result->ok());
  ask_bounded();
  http_.last().head(200);
  http_.last().body("123");
  http_.last().body("45");
  ASSERT_FALSE(result->ok());
  EXPECT_EQ(result->error().code, net::ErrorCode::kInvalid);
  EXPECT_EQ(result->error().message, "get pods: the answer is longer than 4 bytes");
  EXPECT_TRUE(http_.last().cancelled());
}

TEST_F(ApiClientTest, FetchReportsErrors) {
  std::optional<net::Result<ApiAnswer>> result;
  auto call = client_->fetch(pods(), 4, [&](net::Result<ApiAnswer> r) { result = std::move(r); });
  http_.last().answer(404, "");
  ASSERT_TRUE(result && !result->ok());
  EXPECT_EQ(result->error().code, net::ErrorCode::kNotFound);
}

}  // namespace
}  // namespace lastcall::k8s
