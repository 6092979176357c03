#include "gtest/gtest.h"

#include "net/http_client.h"

namespace lastcall::net {
namespace {

TEST(Headers, FindsANameWithoutRegardToCase) {
  Headers headers;
  headers.add("Content-Type", "application/json");
  ASSERT_NE(headers.find("content-type"), nullptr);
  EXPECT_EQ(*headers.find("CONTENT-TYPE"), "application/json");
}

TEST(Headers, FindsTheFirstOfSeveral) {
  Headers headers;
  headers.add("Warning", "one");
  headers.add("warning", "two");
  EXPECT_EQ(*headers.find("Warning"), "one");
  EXPECT_EQ(headers.fields().size(), 2U);
}

TEST(Headers, DoesNotMistakeAPrefixForAName) {
  Headers headers;
  headers.add("Date-Of-Birth", "1991-05-16");
  EXPECT_EQ(headers.find("Date"), nullptr);
  EXPECT_EQ(headers.find(""), nullptr);
}

}  // namespace
}  // namespace lastcall::net
