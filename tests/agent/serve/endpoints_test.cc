// Who may ask what, and how parked hooks are answered.
#include "agent/serve/endpoints.h"

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gtest/gtest.h"

namespace lastcall::serve {
namespace {

// What became of one request.
struct Exchange {
  std::optional<net::ServerResponse> response;
  std::function<void()> gone;
};

class FakeResponder final : public net::Responder {
 public:
  explicit FakeResponder(Exchange& exchange) : exchange_(exchange) {}
  void respond(const net::ServerResponse& response) override { exchange_.response = response; }
  void on_gone(std::function<void()> callback) override { exchange_.gone = std::move(callback); }

 private:
  Exchange& exchange_;
};

class FakeServer final : public net::HttpServer {
 public:
  void on_request(Handler handler) override { handler_ = std::move(handler); }
  void send(Exchange& exchange, std::string method, std::string path) {
    net::ServerRequest request;
    request.method = std::move(method);
    request.path = std::move(path);
    handler_(request, std::make_unique<FakeResponder>(exchange));
  }

 private:
  Handler handler_;
};

class EndpointsTest : public testing::Test {
 protected:
  int status(FakeServer& server, std::string method, std::string path) {
    Exchange exchange;
    server.send(exchange, std::move(method), std::move(path));
    return exchange.response ? exchange.response->status : 0;
  }

  template <class Event>
  [[nodiscard]] const Event* last() const {
    return events_.empty() ? nullptr : std::get_if<Event>(&events_.back());
  }

  FakeServer pod_;
  FakeServer local_;
  std::vector<core::Event> events_;
  core::Phase phase_ = core::Phase::kServing;
  std::size_t waiting_ = 0;
  Endpoints endpoints_{pod_,
                       local_,
                       {.emit = [this](core::Event event) { events_.push_back(std::move(event)); },
                        .phase = [this] { return phase_; },
                        .hooks_waiting = [this] { return waiting_; },
                        .status = [] { return std::string("{}"); },
                        .metrics = [] { return std::string("lastcall_phase 1\n"); }}};
};

TEST_F(EndpointsTest, AHookIsParkedUntilItIsAnswered) {
  Exchange hook;
  pod_.send(hook, "GET", "/hold");
  EXPECT_FALSE(hook.response);
  const auto* arrived = last<core::HookArrived>();
  ASSERT_NE(arrived, nullptr);
  EXPECT_EQ(arrived->trust, core::Trust::kNetwork);

  endpoints_.answer(arrived->id, core::Answer::kReleased);
  ASSERT_TRUE(hook.response);
  EXPECT_EQ(hook.response->status, 200);
  EXPECT_EQ(hook.response->body, "released\n");
}

TEST_F(EndpointsTest, AHookOnTheLocalListenerIsTrusted) {
  Exchange hook;
  local_.send(hook, "POST", "/hold");
  const auto* arrived = last<core::HookArrived>();
  ASSERT_NE(arrived, nullptr);
  EXPECT_EQ(arrived->trust, core::Trust::kLocal);
}

TEST_F(EndpointsTest, EachHookGetsItsOwnAnswer) {
  Exchange first;
  Exchange second;
  pod_.send(first, "GET", "/hold");
  const core::HookId id = last<core::HookArrived>()->id;
  pod_.send(second, "GET", "/hold");
  endpoints_.answer(id, core::Answer::kContainerRestart);
  ASSERT_TRUE(first.response);
  EXPECT_EQ(first.response->body, "container-restart\n");
  EXPECT_FALSE(second.response);
}

TEST_F(EndpointsTest, ACallerThatGoesIsForgotten) {
  Exchange hook;
  pod_.send(hook, "GET", "/hold");
  const core::HookId id = last<core::HookArrived>()->id;
  hook.gone();
  ASSERT_NE(last<core::HookLeft>(), nullptr);
  EXPECT_EQ(last<core::HookLeft>()->id, id);
  endpoints_.answer(id, core::Answer::kReleased);
  EXPECT_FALSE(hook.response);
}

TEST_F(EndpointsTest, NobodyOnTheNetworkMayDrainOrRelease) {
  phase_ = core::Phase::kHolding;
  EXPECT_EQ(status(pod_, "POST", "/drain"), 404);
  EXPECT_EQ(status(pod_, "POST", "/release"), 404);
  EXPECT_TRUE(events_.empty());
}

TEST_F(EndpointsTest, AnOperatorMayDrain) {
  EXPECT_EQ(status(local_, "POST", "/drain"), 202);
  EXPECT_NE(last<core::DrainOrdered>(), nullptr);
}

TEST_F(EndpointsTest, AnOperatorMayReleaseAHold) {
  phase_ = core::Phase::kHolding;
  EXPECT_EQ(status(local_, "POST", "/release"), 200);
  EXPECT_NE(last<core::ReleaseOrdered>(), nullptr);
}

TEST_F(EndpointsTest, AReleaseWithNothingHeldIsAConflict) {
  EXPECT_EQ(status(local_, "POST", "/release"), 409);
  EXPECT_TRUE(events_.empty());
}

TEST_F(EndpointsTest, AReleaseAnswersHooksThatWaitForTheirProof) {
  waiting_ = 1;
  EXPECT_EQ(status(local_, "POST", "/release"), 200);
  EXPECT_NE(last<core::ReleaseOrdered>(), nullptr);
}

TEST_F(EndpointsTest, ReadinessStaysThroughoutTheStop) {
  for (const core::Phase phase : {core::Phase::kServing, core::Phase::kHolding,
                                  core::Phase::kDraining, core::Phase::kReleased}) {
    phase_ = phase;
    EXPECT_EQ(status(pod_, "GET", "/readyz"), 200);
    EXPECT_EQ(status(pod_, "GET", "/healthz"), 200);
  }
}

TEST_F(EndpointsTest, MetricsAndStatusHaveTheirTypes) {
  Exchange metrics;
  pod_.send(metrics, "GET", "/metrics");
  EXPECT_EQ(metrics.response->content_type, "text/plain; version=0.0.4; charset=utf-8");
  Exchange state;
  pod_.send(state, "GET", "/status");
  EXPECT_EQ(state.response->content_type, "application/json");
}

TEST_F(EndpointsTest, OrdersAndReadingsInsistOnTheirMethod) {
  EXPECT_EQ(status(local_, "GET", "/drain"), 405);
  EXPECT_EQ(status(pod_, "POST", "/metrics"), 405);
  EXPECT_EQ(status(pod_, "DELETE", "/hold"), 405);
  EXPECT_EQ(status(pod_, "GET", "/"), 404);
  EXPECT_TRUE(events_.empty());
}

}  // namespace
}  // namespace lastcall::serve
