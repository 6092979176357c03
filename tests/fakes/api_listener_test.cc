#include "tests/fakes/api_listener.h"

#include <chrono>
#include <memory>

#include "gtest/gtest.h"

#include "net/curl_client.h"

namespace lastcall::fakes {
namespace {

using std::chrono::seconds;

class Reader final : public net::HttpHandler {
 public:
  explicit Reader(net::EventLoop& loop) : loop_(loop) {}
  void on_head(const net::HttpResponseHead& head) override { status = head.status; }
  void on_body(std::string_view chunk) override {
    body.append(chunk);
    if (!wanted.empty() && body.find(wanted) != std::string::npos) loop_.stop();
  }
  void on_end(const net::Status& outcome) override {
    ended = true;
    ok = outcome.ok();
    loop_.stop();
  }

  std::string wanted;  // stops the loop when it has come
  int status = 0;
  std::string body;
  bool ended = false;
  bool ok = false;

 private:
  net::EventLoop& loop_;
};

class ApiListenerTest : public testing::Test {
 protected:
  ApiListenerTest() {
    server.store().put(Service{.name = "web", .selector = {{"app", "web"}}});
    server.store().put(Pod{.name = "web-0", .labels = {{"app", "web"}}, .ips = {"10.1.0.1"}});
    server.slices().catch_up();
    limit->arm(loop.now() + seconds(20));
  }

  std::unique_ptr<net::HttpCall> start(const std::string& path) {
    net::HttpRequest request;
    request.url = listener.url() + path;
    return http.start(std::move(request), reader);
  }
  std::unique_ptr<net::HttpCall> start_watch() {
    reader.wanted = "ADDED";
    auto call = start("/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices?watch=1");
    loop.run();
    return call;
  }

  net::EventLoop loop;
  FakeApiServer server{loop};
  ApiListener listener{loop, server};
  net::CurlClient http{loop};
  Reader reader{loop};
  std::unique_ptr<net::Timer> limit = loop.make_timer([this] { loop.stop(); });
};

TEST_F(ApiListenerTest, AnswersOverASocket) {
  const auto call = start("/api/v1/namespaces/shop/pods/web-0");
  loop.run();
  EXPECT_TRUE(reader.ok);
  EXPECT_EQ(reader.status, 200);
  EXPECT_TRUE(reader.body.starts_with(R"({"kind":"Pod")"));
}

TEST_F(ApiListenerTest, StreamsAWatch) {
  const auto call = start_watch();
  EXPECT_NE(reader.body.find("ADDED"), std::string::npos);
  EXPECT_FALSE(reader.ended);
  reader.wanted = "\"terminating\":true";
  server.delete_pod("web-0");
  loop.run();
  EXPECT_NE(reader.body.find("MODIFIED"), std::string::npos);
  EXPECT_FALSE(reader.ended);
}

TEST_F(ApiListenerTest, EndsAWatchProperly) {
  const auto call = start_watch();
  server.end_watches();
  loop.run();
  EXPECT_TRUE(reader.ended);
  EXPECT_TRUE(reader.ok);
}

TEST_F(ApiListenerTest, CutsAWatch) {
  const auto call = start_watch();
  server.cut_watches();
  loop.run();
  EXPECT_TRUE(reader.ended);
  EXPECT_FALSE(reader.ok);
}

TEST_F(ApiListenerTest, ForgetsAPeerThatHasGone) {
  auto call = start_watch();
  EXPECT_EQ(server.watches(), 1U);
  call.reset();
  const auto look = loop.make_timer([this] { loop.stop(); });
  for (int turns = 0; server.watches() > 0 && turns < 1'000; ++turns) {
    look->arm(loop.now() + std::chrono::milliseconds(1));
    loop.run();
  }
  EXPECT_EQ(server.watches(), 0U);
}

}  // namespace
}  // namespace lastcall::fakes
