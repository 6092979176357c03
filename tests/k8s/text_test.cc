// The small text pieces: padded text, addresses, times.
#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include "k8s/cluster.h"
#include "k8s/padded_text.h"
#include "k8s/time.h"

namespace lastcall::k8s {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kSimdjsonPadding = 64;

bool is_padded(const PaddedText& text) {
  return std::string_view(text.data() + text.size(), kSimdjsonPadding) ==
         std::string(kSimdjsonPadding, '\0');
}

TEST(PaddedText, KeepsZeroPaddingBehindEveryAppend) {
  PaddedText text;
  EXPECT_TRUE(text.empty());
  EXPECT_EQ(text.view(), "");
  std::string expected;
  for (int i = 0; i < 300; ++i) {
    text.append("xyz");
    expected += "xyz";
    ASSERT_EQ(text.view(), expected);
    ASSERT_TRUE(is_padded(text));
  }
}

TEST(PaddedText, PaddingHoldsNothingOfALongerTextBefore) {
  PaddedText text("a long text with }}}}}} at its end }}}}}}}}}}}}");
  text.clear();
  text.append("ab");
  EXPECT_EQ(text.view(), "ab");
  EXPECT_TRUE(is_padded(text));
}

TEST(PaddedText, CopiesArePaddedToo) {
  const PaddedText text("abc");
  const PaddedText copy = text;  // NOLINT(performance-unnecessary-copy-initialization)
  EXPECT_EQ(copy.view(), "abc");
  EXPECT_TRUE(is_padded(copy));
}

TEST(PaddedText, GrowsByDoublingAndKeepsItsMemoryUntilShrunk) {
  PaddedText text;
  std::size_t growths = 0;
  std::size_t capacity = text.capacity();
  for (int i = 0; i < 100'000; ++i) {
    text.append("x");
    growths += text.capacity() != capacity ? 1 : 0;
    capacity = text.capacity();
  }
  EXPECT_LT(growths, 20U);
  text.clear();
  EXPECT_EQ(text.capacity(), capacity);
  text.shrink(capacity);
  EXPECT_EQ(text.capacity(), capacity);
  text.shrink(1000);
  EXPECT_LT(text.capacity(), 1000U);
}

TEST(Cluster, BracketsIpv6Literals) {
  EXPECT_EQ(in_cluster_server("10.96.0.1", "443").value(), "https://10.96.0.1:443");
  EXPECT_EQ(in_cluster_server("fd00::1", "6443").value(), "https://[fd00::1]:6443");
  EXPECT_EQ(in_cluster_server("[fd00::1]", "6443").value(), "https://[fd00::1]:6443");
  EXPECT_EQ(in_cluster_server("api.example", "443").value(), "https://api.example:443");
}

TEST(Cluster, OutsideOfAPodItSaysSo) {
  EXPECT_EQ(in_cluster_server("", "443").error().code, net::ErrorCode::kFatal);
  EXPECT_EQ(in_cluster_server("10.96.0.1", "").error().code, net::ErrorCode::kFatal);
}

net::WallTime at(int year, unsigned month, unsigned day, net::Duration since_midnight) {
  return std::chrono::sys_days(std::chrono::year(year) / static_cast<int>(month) /
                               static_cast<int>(day)) +
         since_midnight;
}

TEST(Time, ReadsRfc3339) {
  const auto noon = at(2026, 1, 2, 12h);
  EXPECT_EQ(parse_rfc3339("2026-01-02T12:00:00Z"), noon);
  EXPECT_EQ(parse_rfc3339("2026-01-02t12:00:00z"), noon);
  EXPECT_EQ(parse_rfc3339("2026-01-02T14:30:00+02:30"), noon);
  EXPECT_EQ(parse_rfc3339("2026-01-02T11:00:00-01:00"), noon);
  EXPECT_EQ(parse_rfc3339("2026-01-02T12:00:00.25Z"), noon + 250ms);
  EXPECT_EQ(parse_rfc3339("2026-01-02T12:00:00.123456Z"), noon + 123'456us);
  EXPECT_EQ(parse_rfc3339("2026-01-02T12:00:00.1234567899Z"), noon + 123'456'789ns);
  EXPECT_EQ(parse_rfc3339("2024-02-29T00:00:00Z"), at(2024, 2, 29, 0s));
  EXPECT_EQ(parse_rfc3339("2016-12-31T23:59:60Z"), at(2017, 1, 1, 0s));
}

TEST(Time, RefusesWhatIsNotRfc3339) {
  for (const char* text :
       {"", "2026", "2026-01-02", "2026-01-02T12:00:00", "2026-01-02 12:00:00Z",
        "2026-1-02T12:00:00Z", "2026-13-02T12:00:00Z", "2026-02-29T12:00:00Z",
        "2026-01-02T24:00:00Z", "2026-01-02T12:60:00Z", "2026-01-02T12:00:61Z",
        "2026-01-02T12:00:00.Z", "2026-01-02T12:00:00Zx", "2026-01-02T12:00:00+0100",
        "2026-01-02T12:00:00*01:00", "-026-01-02T12:00:00Z", "9999-01-02T12:00:00Z",
        "0001-01-01T00:00:00Z"}) {
    EXPECT_FALSE(parse_rfc3339(text)) << text;
  }
}

TEST(Time, ReadsHttpDates) {
  EXPECT_EQ(parse_http_date("Fri, 02 Jan 2026 03:04:05 GMT"), at(2026, 1, 2, 3h + 4min + 5s));
  EXPECT_EQ(parse_http_date("Thu, 31 Dec 2026 23:59:59 GMT"), at(2026, 12, 31, 23h + 59min + 59s));
}

TEST(Time, RefusesOtherFormsOfHttpDates) {
  for (const char* text :
       {"", "Friday, 02-Jan-26 03:04:05 GMT", "Fri Jan  2 03:04:05 2026", "Fri, 02 Jan 2026",
        "Fri, 02 Foo 2026 03:04:05 GMT", "Fri, 32 Jan 2026 03:04:05 GMT",
        "Fri, 02 Jan 2026 03:04:05 UTC", "Fri, 02 Jan 2026 03:04:05 GMT "}) {
    EXPECT_FALSE(parse_http_date(text)) << text;
  }
}

}  // namespace
}  // namespace lastcall::k8s
