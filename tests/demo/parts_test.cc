#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/demo/agent_log.h"
#include "tests/demo/routing.h"
#include "tests/demo/scene.h"
#include "tests/demo/summary.h"
#include "tests/demo/svg.h"

namespace lastcall::demo {
namespace {

using Addresses = std::vector<std::string>;

RoutedEndpoint ready(const std::string& address) { return {address, true, true, false}; }
RoutedEndpoint stopping(const std::string& address) { return {address, false, true, true}; }

TEST(Strategy, IsReadAsItIsWritten) {
  for (const char* name : {"none", "sleep 2", "lastcall"}) {
    const auto strategy = parse_strategy(name);
    ASSERT_TRUE(strategy) << name;
    EXPECT_EQ(to_string(*strategy), name);
  }
  EXPECT_EQ(parse_strategy("sleep-15"), parse_strategy("sleep 15"));
  EXPECT_EQ(parse_strategy("sleep15"), parse_strategy("sleep 15"));
}

TEST(Strategy, IsNothingElse) {
  for (const char* name : {"", "sleep", "sleep 0", "sleep 26", "sleep 2s", "Lastcall"}) {
    EXPECT_FALSE(parse_strategy(name)) << name;
  }
}

TEST(Routing, ChoosesAmongTheReadyOnesOfAllSlices) {
  const Slices slices{{"a", {ready("127.0.1.2"), stopping("127.0.1.3")}},
                      {"b", {ready("127.0.1.1"), ready("127.0.1.2")}}};
  EXPECT_EQ(routable(slices), (Addresses{"127.0.1.1", "127.0.1.2"}));
}

TEST(Routing, FallsBackToServingOnesThatTerminate) {
  const Slices slices{{"a", {stopping("127.0.1.3"), {"127.0.1.4", false, false, true}}}};
  EXPECT_EQ(routable(slices), (Addresses{"127.0.1.3"}));
}

TEST(Routing, TakesAbsentConditionsAsReady) {
  const auto slice = parse_routed_slice(k8s::PaddedText(
      R"({"metadata":{"name":"s"},"endpoints":[{"addresses":["127.0.1.1"],"conditions":{}}]})"));
  ASSERT_TRUE(slice.ok());
  EXPECT_EQ(routable({{slice.value().name, slice.value().endpoints}}), (Addresses{"127.0.1.1"}));
}

TEST(Routing, RefusesWhatIsNoSlice) {
  for (const char* text : {"", "[]", "{}", R"({"metadata":{"name":"s"},"endpoints":[{}]})"}) {
    EXPECT_FALSE(parse_routed_slice(k8s::PaddedText(text)).ok()) << text;
  }
}

TEST(AgentLog, TellsWhyTheHoldEnded) {
  const AgentStory story = read_agent_log(
      "not JSON\n"
      R"({"time":"2026-01-02T03:04:05.250Z","event":"phase","phase":"holding"})"
      "\n"
      R"({"time":"2026-01-02T03:04:09.500Z","event":"phase","phase":"released","hold_end":"all-gone"})");
  EXPECT_TRUE(story.released);
  EXPECT_EQ(story.hold_end, "all-gone");
}

Recording two_stops(PreStop pre_stop, std::size_t failed) {
  Recording recording;
  recording.strategy.pre_stop = pre_stop;
  recording.samples.resize(100);
  recording.failed = failed;
  const net::Instant start{};
  recording.rollout_ended = start + seconds(9);
  for (const int seconds_to_stop : {4, 6}) {
    recording.pods.push_back({.name = "old", .old = true, .agent_hold_end = "all-gone"});
    recording.pods.back().deleted = start + seconds(1);
    recording.pods.back().gone = start + seconds(1 + seconds_to_stop);
  }
  return recording;
}

TEST(Summary, CountsRequestsAndTakesTheMedianOfTheStops) {
  const Row row = summarize(two_stops(PreStop::kNone, 25));
  EXPECT_EQ(row.sent, 100U);
  EXPECT_DOUBLE_EQ(row.failed_percent(), 25);
  EXPECT_DOUBLE_EQ(row.stop_seconds_p50, 4);
  EXPECT_DOUBLE_EQ(row.rollout_seconds, 9);
}

TEST(Summary, IsLosslessOnlyWhenTheAgentsSawThatTheyMightLetGo) {
  EXPECT_TRUE(is_lossless(two_stops(PreStop::kLastcall, 0)));
  EXPECT_FALSE(is_lossless(two_stops(PreStop::kLastcall, 1)));
  Recording lucky = two_stops(PreStop::kLastcall, 0);
  lucky.pods.back().agent_hold_end = "deadline";
  EXPECT_FALSE(is_lossless(lucky));
  EXPECT_TRUE(is_lossless(two_stops(PreStop::kNone, 99)));
}

TEST(Svg, EscapesText) {
  Svg svg(10, 10, "a & b", "", "");
  svg.text(1, 2, "small", "<c>");
  const std::string document = svg.finish();
  EXPECT_NE(document.find("<title>a &amp; b</title>"), std::string::npos);
  EXPECT_NE(document.find(">&lt;c&gt;</text>"), std::string::npos);
}

}  // namespace
}  // namespace lastcall::demo
