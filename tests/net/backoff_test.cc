#include "net/backoff.h"

#include "gtest/gtest.h"

namespace lastcall::net {
namespace {

using std::chrono::milliseconds;

TEST(Backoff, DoublesUpToItsBound) {
  Backoff backoff(milliseconds(100), milliseconds(500));
  EXPECT_EQ(backoff.next(0), milliseconds(100));
  EXPECT_EQ(backoff.next(0), milliseconds(200));
  EXPECT_EQ(backoff.next(0), milliseconds(400));
  EXPECT_EQ(backoff.next(0), milliseconds(500));
  EXPECT_EQ(backoff.next(0), milliseconds(500));
}

TEST(Backoff, DrawsFromTheUpperHalf) {
  for (std::uint32_t random = 0; random < 1000; random += 7) {
    Backoff backoff(milliseconds(100), milliseconds(500));
    const auto delay = backoff.next(random * 2654435761U);
    EXPECT_GE(delay, milliseconds(50));
    EXPECT_LE(delay, milliseconds(100));
  }
}

TEST(Backoff, BeginsAnewAfterASuccess) {
  Backoff backoff(milliseconds(100), milliseconds(500));
  (void)backoff.next(0);
  (void)backoff.next(0);
  backoff.reset();
  EXPECT_EQ(backoff.next(0), milliseconds(100));
}

}  // namespace
}  // namespace lastcall::net
