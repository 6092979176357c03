#include "config/duration.h"

#include <gtest/gtest.h>

namespace lastcall::config {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(Duration, HasAUnit) {
  EXPECT_EQ(parse_duration("300ms"), milliseconds(300));
  EXPECT_EQ(parse_duration("5s"), seconds(5));
  EXPECT_EQ(parse_duration("2m"), minutes(2));
  EXPECT_EQ(parse_duration("1h"), hours(1));
  EXPECT_EQ(parse_duration("05s"), seconds(5));
}

TEST(Duration, CanBeASumFromLargeToSmall) {
  EXPECT_EQ(parse_duration("1m30s"), seconds(90));
  EXPECT_EQ(parse_duration("1h2m3s4ms"), hours(1) + minutes(2) + seconds(3) + milliseconds(4));
  EXPECT_EQ(parse_duration("1h4ms"), hours(1) + milliseconds(4));
}

TEST(Duration, OfZeroNeedsNoUnit) {
  EXPECT_EQ(parse_duration("0"), milliseconds(0));
  EXPECT_EQ(parse_duration("0s"), milliseconds(0));
  EXPECT_FALSE(parse_duration("00"));
}

TEST(Duration, IsAtMostADay) {
  EXPECT_EQ(parse_duration("24h"), kDurationMax);
  EXPECT_EQ(parse_duration("86400000ms"), kDurationMax);
  EXPECT_FALSE(parse_duration("24h1ms"));
  EXPECT_FALSE(parse_duration("25h"));
  EXPECT_FALSE(parse_duration("86400001ms"));
  EXPECT_FALSE(parse_duration("18446744073709551617ms"));
  EXPECT_FALSE(parse_duration("86400000h"));
}

class DurationRefuses : public testing::TestWithParam<std::string> {};

TEST_P(DurationRefuses, WhatIsNone) { EXPECT_FALSE(parse_duration(GetParam())); }

INSTANTIATE_TEST_SUITE_P(All, DurationRefuses,
                         testing::Values("", "5", "s", "-5s", "+5s", "1.5s", "1,5s", " 5s", "5s ",
                                         "5 s", "5S", "5sec", "5d", "5us", "1s1m", "1s1s", "1m5",
                                         "5s-", "infinity", "none", "0x5s", "1e3s",
                                         std::string("5s\0", 3)));

TEST(Duration, IsFormattedAsTheShortestText) {
  EXPECT_EQ(format_duration(milliseconds(0)), "0");
  EXPECT_EQ(format_duration(milliseconds(1)), "1ms");
  EXPECT_EQ(format_duration(seconds(1)), "1s");
  EXPECT_EQ(format_duration(milliseconds(1500)), "1500ms");
  EXPECT_EQ(format_duration(seconds(60)), "1m");
  EXPECT_EQ(format_duration(seconds(90)), "90s");
  EXPECT_EQ(format_duration(minutes(90)), "90m");
  EXPECT_EQ(format_duration(hours(1) + seconds(1)), "1h1s");
  EXPECT_EQ(format_duration(kDurationMax), "24h");
}

TEST(Duration, ParsesToWhatWasFormatted) {
  for (milliseconds duration{0}; duration <= kDurationMax; duration += milliseconds(9973)) {
    ASSERT_EQ(parse_duration(format_duration(duration)), duration) << duration.count();
  }
}

}  // namespace
}  // namespace lastcall::config
