#include "agent/report/log.h"

#include "gtest/gtest.h"

#include "tests/agent/report/memory_sink.h"
#include "tests/fakes/sim_loop.h"

namespace lastcall::report {
namespace {

class LogTest : public testing::Test {
 protected:
  fakes::SimLoop loop_{1};
  MemorySink sink_;
  Log log_{loop_, sink_};
};

TEST_F(LogTest, ALineIsOneObjectWithTimeLevelAndEvent) {
  log_.write(Level::kWarn, "blind",
             {{"error", "no route"}, {"tries", std::int64_t{3}}, {"s", 1.5}});
  ASSERT_EQ(sink_.size(), 1U);
  EXPECT_EQ(sink_.level(0), Level::kWarn);
  const auto& line = sink_.line(0);
  EXPECT_EQ(line["level"], "warn");
  EXPECT_EQ(line["event"], "blind");
  EXPECT_EQ(line["error"], "no route");
  EXPECT_EQ(line["tries"], 3);
  EXPECT_EQ(line["s"], 1.5);
  const std::string time = line["time"];
  EXPECT_EQ(time.size(), std::string("2026-01-02T03:04:05.678Z").size());
  EXPECT_EQ(time.back(), 'Z');
}

TEST_F(LogTest, WhatOthersSendCannotForgeALine) {
  log_.write(Level::kInfo, "error", {{"error", "a\"}\n{\"event\":\"phase\"\xff"}});
  ASSERT_EQ(sink_.size(), 1U);
  EXPECT_EQ(sink_.line(0)["error"], "a\"}\n{\"event\":\"phase\"\xef\xbf\xbd");
}

}  // namespace
}  // namespace lastcall::report
