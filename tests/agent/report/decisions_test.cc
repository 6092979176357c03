#include "agent/report/decisions.h"

#include <chrono>

#include "gtest/gtest.h"

#include "tests/agent/report/memory_sink.h"
#include "tests/fakes/sim_loop.h"

namespace lastcall::report {
namespace {

using std::chrono::seconds;

const core::ConsumerId kWeb{"endpointslices", "shop/web"};

class DecisionsTest : public testing::Test {
 protected:
  DecisionsTest() {
    snapshot_.trigger = core::Trigger::kDeletion;
    snapshot_.hold_started = now_ - seconds(4);
    snapshot_.deadline = now_ + seconds(26);
    snapshot_.deadline_proven = true;
  }
  void tell(const core::Action& action) { log_decisions(log_, {action}, snapshot_, now_); }

  fakes::SimLoop loop_{1};
  MemorySink sink_;
  Log log_{loop_, sink_};
  core::Instant now_{seconds(1000)};
  core::Snapshot snapshot_;
};

TEST_F(DecisionsTest, AHoldSaysWhatBeganItAndUntilWhen) {
  tell(core::PhaseEntered{core::Phase::kHolding});
  EXPECT_EQ(sink_.line(0)["phase"], "holding");
  EXPECT_EQ(sink_.line(0)["trigger"], "deletion");
  EXPECT_EQ(sink_.line(0)["deadline_seconds"], 26.0);
  EXPECT_EQ(sink_.line(0)["deadline_proven"], true);
}

TEST_F(DecisionsTest, AWithdrawalSaysWhatWasSeen) {
  tell(core::PresenceChanged{kWeb, core::Presence::kRoutable, core::Presence::kWithdrawn,
                             "ready=false in slice web-x"});
  const auto& line = sink_.line(0);
  EXPECT_EQ(line["consumer"], "shop/web");
  EXPECT_EQ(line["from"], "routable");
  EXPECT_EQ(line["to"], "withdrawn");
  EXPECT_EQ(line["why"], "ready=false in slice web-x");
  EXPECT_EQ(line["hold_seconds"], 4.0);
}

TEST_F(DecisionsTest, AnOutcomeByEvidenceIsNoWarning) {
  snapshot_.drain_started = now_;
  snapshot_.hold_end = core::HoldEnd::kAllGone;
  snapshot_.drain_end = core::DrainEnd::kNoProxy;
  tell(core::PhaseEntered{core::Phase::kReleased});
  EXPECT_EQ(sink_.level(0), Level::kInfo);
  EXPECT_EQ(sink_.line(0)["hold_end"], "all-gone");
  EXPECT_EQ(sink_.line(0)["drain_end"], "no-proxy");
  EXPECT_FALSE(sink_.line(0).contains("still_there"));
}

TEST_F(DecisionsTest, AnOutcomeByALimitWarnsAndNamesWhoWasStillThere) {
  snapshot_.drain_started = now_;
  snapshot_.hold_end = core::HoldEnd::kDeadline;
  snapshot_.drain_end = core::DrainEnd::kNoProxy;
  snapshot_.still_there = {kWeb};
  tell(core::PhaseEntered{core::Phase::kReleased});
  EXPECT_EQ(sink_.level(0), Level::kWarn);
  EXPECT_EQ(sink_.line(0)["still_there"], "endpointslices shop/web");
}

TEST_F(DecisionsTest, AConsumerNeverSeenLeavingIsAWarning) {
  tell(core::ConsumerGone{kWeb, core::GoneBy::kBlind});
  EXPECT_EQ(sink_.level(0), Level::kWarn);
  tell(core::ConsumerGone{kWeb, core::GoneBy::kSettle});
  EXPECT_EQ(sink_.level(1), Level::kInfo);
}

TEST_F(DecisionsTest, AHookAnsweredWithoutProofIsAWarning) {
  tell(core::AnswerHook{7, core::Answer::kUnverified});
  EXPECT_EQ(sink_.level(0), Level::kWarn);
  EXPECT_EQ(sink_.line(0)["answer"], "unverified");
}

TEST_F(DecisionsTest, WhatIsOnlyCarriedOutIsNotLogged) {
  tell(core::AskPod{});
  tell(core::BeginObserving{});
  tell(core::EndObserving{});
  EXPECT_EQ(sink_.size(), 0U);
}

}  // namespace
}  // namespace lastcall::report
