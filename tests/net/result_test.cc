#include "net/result.h"

#include "gtest/gtest.h"

namespace lastcall::net {
namespace {

TEST(Result, HoldsAValueOrAnError) {
  const Result<int> value = 7;
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(value.value(), 7);
  const Result<int> error = Error{ErrorCode::kNotFound, "no such pod", {}};
  ASSERT_FALSE(error.ok());
  EXPECT_EQ(error.error().message, "no such pod");
}

TEST(Result, GivesItsValueAway) {
  Result<std::string> value = std::string("token");
  EXPECT_EQ(std::move(value).value(), "token");
}

TEST(ResultDeathTest, ReadingTheOneThatIsNotThereAborts) {
  const Result<int> value = 7;
  const Result<int> error = Error{};
  EXPECT_DEATH((void)value.error(), "");
  EXPECT_DEATH((void)error.value(), "");
}

TEST(Error, GainsContextAndKeepsEverythingElse) {
  const Error inner{ErrorCode::kRetry, "connection refused", std::chrono::milliseconds(1500)};
  const Error outer = inner.in("10.0.0.1:443").in("list slices");
  EXPECT_EQ(outer.message, "list slices: 10.0.0.1:443: connection refused");
  EXPECT_EQ(outer.code, ErrorCode::kRetry);
  EXPECT_EQ(outer.retry_after, std::chrono::milliseconds(1500));
}

TEST(ErrorCode, HasANameForEachReaction) {
  EXPECT_EQ(to_string(ErrorCode::kRetry), "retry");
  EXPECT_EQ(to_string(ErrorCode::kRelist), "relist");
  EXPECT_EQ(to_string(ErrorCode::kReauthenticate), "reauthenticate");
  EXPECT_EQ(to_string(ErrorCode::kForbidden), "forbidden");
  EXPECT_EQ(to_string(ErrorCode::kNotFound), "not-found");
  EXPECT_EQ(to_string(ErrorCode::kInvalid), "invalid");
  EXPECT_EQ(to_string(ErrorCode::kFatal), "fatal");
}

}  // namespace
}  // namespace lastcall::net
