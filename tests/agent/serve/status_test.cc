#include "agent/serve/status.h"

#include <chrono>
#include <nlohmann/json.hpp>

#include "gtest/gtest.h"

namespace lastcall::serve {
namespace {

using std::chrono::seconds;

const core::Instant kNow{seconds(1000)};

nlohmann::json parse(const core::Snapshot& snapshot) {
  return nlohmann::json::parse(status_json(snapshot, {"shop", "checkout-1", "0.1.0"}, {}, kNow));
}

TEST(Status, AnIdleAgentServes) {
  const auto status = parse({});
  EXPECT_EQ(status["pod"], "shop/checkout-1");
  EXPECT_EQ(status["phase"], "serving");
  EXPECT_TRUE(status["trigger"].is_null());
  EXPECT_TRUE(status["consumers"].empty());
}

TEST(Status, AHoldTellsItsLimitAndItsConsumersWithTheSourceOfTheirThresholds) {
  core::Snapshot snapshot;
  snapshot.phase = core::Phase::kHolding;
  snapshot.trigger = core::Trigger::kDeletion;
  snapshot.hold_started = kNow - seconds(5);
  snapshot.limit = kNow + seconds(15);
  core::ConsumerState consumer{{"endpointslices", "shop/checkout"}, {}, {}, {}, {}, {}, {}};
  consumer.presence = core::Presence::kWithdrawn;
  consumer.withdrawn_at = kNow - seconds(2);
  consumer.thresholds.settle = {seconds(4), core::Source::kConfigFile};
  snapshot.consumers.push_back(consumer);

  const auto status = parse(snapshot);
  EXPECT_EQ(status["hold_started"], -5.0);
  EXPECT_EQ(status["limit"], 15.0);
  const auto& told = status["consumers"][0];
  EXPECT_EQ(told["presence"], "withdrawn");
  EXPECT_EQ(told["withdrawn"], -2.0);
  EXPECT_EQ(told["thresholds"]["settle"]["seconds"], 4.0);
  EXPECT_EQ(told["thresholds"]["settle"]["source"], "config-file");
  EXPECT_EQ(told["thresholds"]["blind"]["source"], "default");
  EXPECT_TRUE(told["gone"].is_null());
}

TEST(Status, TellsWhatWasPassedOver) {
  Findings findings;
  findings.ignored.push_back({"batch", "annotation lastcall/ignore of the Service"});
  findings.malformed.push_back({"Pod shop/checkout-1", "lastcall/settle", "3", "expected .."});
  const auto status = nlohmann::json::parse(status_json({}, {"shop", "c", "0"}, findings, kNow));
  EXPECT_EQ(status["ignored"][0]["service"], "batch");
  EXPECT_EQ(status["malformed_annotations"][0]["key"], "lastcall/settle");
  EXPECT_TRUE(status["budget"].is_null());
}

TEST(Status, AnOutcomeNamesWhoWasStillThere) {
  core::Snapshot snapshot;
  snapshot.phase = core::Phase::kReleased;
  snapshot.hold_end = core::HoldEnd::kDeadline;
  snapshot.drain_end = core::DrainEnd::kNoProxy;
  snapshot.still_there = {{"endpointslices", "shop/checkout"}};
  const auto status = parse(snapshot);
  EXPECT_EQ(status["hold_end"], "deadline");
  EXPECT_EQ(status["still_there"][0], "endpointslices shop/checkout");
}

TEST(Status, BytesThatAreNotUtf8AreReplaced) {
  core::Snapshot snapshot;
  core::ConsumerState consumer{{"endpointslices", "shop/\xff"}, {}, {}, {}, {}, {}, {}};
  snapshot.consumers.push_back(consumer);
  EXPECT_EQ(parse(snapshot)["consumers"][0]["name"], "shop/\xef\xbf\xbd");
}

}  // namespace
}  // namespace lastcall::serve
