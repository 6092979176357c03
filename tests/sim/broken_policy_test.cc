// A check that cannot fail is worth nothing: each invariant is broken on purpose, and the
// checker has to say which.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "gtest/gtest.h"

#include "tests/sim/world.h"

namespace lastcall::sim {
namespace {

Scenario calm() {
  Scenario scenario;
  scenario.controller_delay = Millis(6'000);
  scenario.healed_at = Millis(0);
  return scenario;
}

bool reports(const Outcome& outcome, const std::string& invariant) {
  return std::any_of(outcome.violations.begin(), outcome.violations.end(),
                     [&](const std::string& v) { return v.starts_with(invariant + ":"); });
}

// Sends a failed request again at once, for ever.
class HammeringClient final : public net::HttpClient {
 public:
  HammeringClient(net::HttpClient& inner, net::Loop& loop) : inner_(inner), loop_(loop) {}

  std::unique_ptr<net::HttpCall> start(net::HttpRequest request,
                                       net::HttpHandler& handler) override {
    return std::make_unique<Call>(*this, std::move(request), handler);
  }

 private:
  class Call final : public net::HttpCall, private net::HttpHandler {
   public:
    Call(HammeringClient& client, net::HttpRequest request, net::HttpHandler& handler)
        : client_(client),
          request_(std::move(request)),
          handler_(handler),
          again_(client.loop_.make_timer([this] { send(); })) {
      send();
    }

   private:
    void send() { call_ = client_.inner_.start(request_, *this); }
    void on_head(const net::HttpResponseHead& head) override { handler_.on_head(head); }
    void on_body(std::string_view chunk) override { handler_.on_body(chunk); }
    void on_end(const net::Status& outcome) override {
      if (outcome.ok()) {
        handler_.on_end(outcome);
      } else {
        again_->arm(client_.loop_.now());
      }
    }

    HammeringClient& client_;
    net::HttpRequest request_;
    net::HttpHandler& handler_;
    std::unique_ptr<net::Timer> again_;
    std::unique_ptr<net::HttpCall> call_;
  };

  net::HttpClient& inner_;
  net::Loop& loop_;
};

void replace_all(std::string& text, std::string_view what, std::string_view with) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at)) {
    text.replace(at, what.size(), with);
    at += with.size();
  }
}

TEST(BrokenPolicyIsCaught, TheSoundOneIsNot) {
  const auto outcome = World(calm(), 1, false).run();
  EXPECT_TRUE(outcome.violations.empty());
}

TEST(BrokenPolicyIsCaught, AnsweringAtOnceBreaksS1) {
  Sabotage hasty;
  hasty.servers = [](SimServer& server) { server.answer_at_once(); };
  EXPECT_TRUE(reports(World(calm(), 1, false, hasty).run(), "S1"));
}

TEST(BrokenPolicyIsCaught, SeeingAWithdrawalThatIsNoneBreaksS1) {
  Sabotage liar;
  liar.tamper = [](std::string& text) {
    replace_all(text, R"("ready":true)", R"("ready":false)");
    replace_all(text, R"("serving":true,"terminating":false)",
                R"("serving":false,"terminating":true)");
  };
  EXPECT_TRUE(reports(World(calm(), 1, false, liar).run(), "S1"));
}

// Whose Services come and go unnoticed.
TEST(BrokenPolicyIsCaught, NotHearingOfAServiceThatIsCreatedBreaksS1) {
  using Kind = ServiceChange::Kind;
  for (const auto kind : {Kind::kCreated, Kind::kCreatedAlone}) {
    auto scenario = calm();
    scenario.service_changes = {{scenario.stop_at + Millis(2'000), kind, 0}};
    EXPECT_TRUE(World(scenario, 1, false).run().violations.empty());
    Sabotage deaf;
    deaf.tamper = [](std::string& text) {
      const bool is_news = text.starts_with(R"({"type":"ADDED")");
      if (is_news && text.find(R"("name":"late-0")") != std::string::npos) text.assign(1, ' ');
    };
    EXPECT_TRUE(reports(World(scenario, 1, false, deaf).run(), "S1"));
  }
}

TEST(BrokenPolicyIsCaught, TakingSlicesMadeByHandForManagedOnesBreaksS1) {
  auto scenario = calm();
  scenario.by_hand.emplace();
  scenario.grace = std::chrono::seconds(60);
  EXPECT_TRUE(World(scenario, 1, false).run().violations.empty());
  Sabotage trusting;
  trusting.tamper = [](std::string& text) {
    replace_all(text, R"("people")", R"("endpointslice-controller.k8s.io")");
  };
  EXPECT_TRUE(reports(World(scenario, 1, false, trusting).run(), "S1"));
}

TEST(BrokenPolicyIsCaught, TakingWhatIsTruncatedForAllBreaksS1) {
  auto scenario = calm();
  scenario.others = {4};
  scenario.legacy = {Millis(500), 2, std::nullopt};
  scenario.grace = std::chrono::seconds(60);
  EXPECT_TRUE(World(scenario, 1, false).run().violations.empty());
  Sabotage trusting;
  trusting.tamper = [](std::string& text) { replace_all(text, R"("truncated")", R"("")"); };
  EXPECT_TRUE(reports(World(scenario, 1, false, trusting).run(), "S1"));
}

TEST(BrokenPolicyIsCaught, MisreadingAnAnnotationBreaksS1) {
  auto scenario = calm();
  scenario.traits = {ServiceTraits{.settle = Millis(9'000)}};
  EXPECT_TRUE(World(scenario, 1, false).run().violations.empty());
  Sabotage hasty;
  hasty.tamper = [](std::string& text) { replace_all(text, R"("9000ms")", R"("5000ms")"); };
  EXPECT_TRUE(reports(World(scenario, 1, false, hasty).run(), "S1"));
}

TEST(BrokenPolicyIsCaught, TakingAShutdownForTheRestartOfAContainerBreaksS1) {
  auto scenario = calm();
  scenario.stop = StopKind::kNodeShutdown;
  scenario.node_readable = true;
  EXPECT_TRUE(World(scenario, 1, false).run().violations.empty());
  Sabotage blind;
  blind.tamper = [](std::string& text) { replace_all(text, "is shutting down", "is well"); };
  EXPECT_TRUE(reports(World(scenario, 1, false, blind).run(), "S1"));
}

TEST(BrokenPolicyIsCaught, NotSeeingThatTheDeadlineHasMovedBreaksS2) {
  auto scenario = calm();
  scenario.grace = std::chrono::seconds(60);
  scenario.controller_delay = Millis(200'000);
  scenario.shortening = {Millis(5'000), std::chrono::seconds(20), false};
  EXPECT_TRUE(World(scenario, 1, false).run().violations.empty());
  Sabotage deaf;
  deaf.tamper = [](std::string& text) {
    if (text.starts_with(R"({"type":"MODIFIED","object":{"kind":"Pod")")) text.assign(1, ' ');
  };
  EXPECT_TRUE(reports(World(scenario, 1, false, deaf).run(), "S2"));
}

TEST(BrokenPolicyIsCaught, ForgettingOneOfSeveralHooksBreaksS2) {
  auto scenario = calm();
  scenario.containers = 2;
  EXPECT_TRUE(World(scenario, 1, false).run().violations.empty());
  Sabotage forgetful;
  forgetful.servers = [](SimServer& server) { server.forget_first(); };
  EXPECT_TRUE(reports(World(scenario, 1, false, forgetful).run(), "S2"));
}

TEST(BrokenPolicyIsCaught, NeverAnsweringBreaksS2) {
  Sabotage mute;
  mute.servers = [](SimServer& server) { server.swallow_answers(); };
  EXPECT_TRUE(reports(World(calm(), 1, false, mute).run(), "S2"));
}

TEST(BrokenPolicyIsCaught, NotSeeingWhatIsToldBreaksS3) {
  Sabotage deaf;
  deaf.tamper = [](std::string& text) {
    if (text.starts_with(R"({"type":)")) text.assign(1, ' ');
  };
  EXPECT_TRUE(reports(World(calm(), 1, false, deaf).run(), "S3"));
}

TEST(BrokenPolicyIsCaught, GoingBackwardsBreaksS4) {
  const Scenario scenario = calm();
  fakes::SimLoop loop(1);
  fakes::FakeApiServer server(loop);
  const Truth truth(server, "own", config::Settings{});
  Checker checker(scenario, truth);
  core::Snapshot snapshot;
  snapshot.phase = core::Phase::kHolding;
  checker.on_snapshot(snapshot);
  EXPECT_TRUE(checker.violations().empty());
  snapshot.phase = core::Phase::kServing;
  checker.on_snapshot(snapshot);
  EXPECT_TRUE(checker.violations().at(0).starts_with("S4:"));
}

TEST(BrokenPolicyIsCaught, RetryingWithoutBackoffBreaksS5) {
  auto scenario = calm();
  scenario.healed_at.reset();
  scenario.down_from = Millis(0);
  scenario.down_until = Millis(3'000);
  Sabotage hammering;
  hammering.wrap_network = [](net::HttpClient& inner, net::Loop& loop) {
    return std::make_unique<HammeringClient>(inner, loop);
  };
  EXPECT_TRUE(reports(World(scenario, 1, false, hammering).run(), "S5"));
}

// An agent that forgets the stop when it is started anew lets the hook go.
TEST(BrokenPolicyIsCaught, ForgettingTheStopInARestartBreaksS6) {
  auto scenario = calm();
  scenario.healed_at.reset();
  scenario.restarts_at = {scenario.stop_at + Millis(1'000)};
  Sabotage forgetful;
  forgetful.servers = [lives = 0](SimServer& server) mutable {
    if (++lives > 2) server.answer_at_once();
  };
  EXPECT_TRUE(reports(World(scenario, 1, false, forgetful).run(), "S1"));
}

}  // namespace
}  // namespace lastcall::sim
