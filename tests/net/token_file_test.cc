#include "net/token_file.h"

#include <filesystem>
#include <fstream>

#include "gtest/gtest.h"
#include <unistd.h>

namespace lastcall::net {
namespace {

constexpr std::size_t kFileBytesMax = 65'536;

// A loop whose time a test sets. Nothing here needs a timer.
class StillLoop final : public Loop {
 public:
  [[nodiscard]] Instant now() const override { return time; }
  [[nodiscard]] WallTime wall_now() const override { return {}; }
  [[nodiscard]] std::unique_ptr<Timer> make_timer(std::function<void()>) override {
    return nullptr;
  }
  [[nodiscard]] std::uint32_t random() override { return 0; }

  Instant time{};
};

class TokenFileTest : public testing::Test {
 protected:
  TokenFileTest() { std::filesystem::create_directory(folder_); }
  ~TokenFileTest() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& content) { std::ofstream(path_, std::ios::binary) << content; }
  void remove() { std::filesystem::remove(path_); }
  void pass(std::chrono::seconds time) { loop_.time += time; }
  std::string token() {
    const auto reading = file_.read();
    return reading.ok() ? reading.value() : reading.error().message;
  }

  std::filesystem::path folder_ = std::filesystem::temp_directory_path() /
                                  ("lastcall-token-" + std::to_string(getpid()) + "-" +
                                   testing::UnitTest::GetInstance()->current_test_info()->name());
  std::filesystem::path path_ = folder_ / "token";
  StillLoop loop_;
  TokenFile file_{loop_, path_};
};

TEST_F(TokenFileTest, GivesTheContentWithoutWhiteSpace) {
  write("\n  eyJhbGciOi \r\n");
  EXPECT_EQ(token(), "eyJhbGciOi");
}

TEST_F(TokenFileTest, KeepsAReadingForAMinute) {
  write("first");
  EXPECT_EQ(token(), "first");
  write("second");
  pass(std::chrono::seconds(60));
  EXPECT_EQ(token(), "first");
}

TEST_F(TokenFileTest, SeesARotationAfterAMinute) {
  write("first");
  EXPECT_EQ(token(), "first");
  write("second");
  pass(std::chrono::seconds(61));
  EXPECT_EQ(token(), "second");
}

TEST_F(TokenFileTest, SeesARotationAtOnceWhenDistrusted) {
  write("first");
  EXPECT_EQ(token(), "first");
  write("second");
  file_.distrust();
  EXPECT_EQ(token(), "second");
  write("third");
  EXPECT_EQ(token(), "second") << "trusted again";
}

TEST_F(TokenFileTest, SaysWhyTheLastReadingWasOfNoUse) {
  write("first");
  EXPECT_EQ(token(), "first");
  EXPECT_EQ(file_.trouble(), "");
  write("");
  file_.distrust();
  EXPECT_EQ(token(), "first");
  EXPECT_EQ(file_.trouble(), path_.string() + ": empty");
  write("second");
  EXPECT_EQ(token(), "second");
  EXPECT_EQ(file_.trouble(), "");
}

TEST_F(TokenFileTest, OutlivesAMomentWithoutTheFile) {
  write("first");
  EXPECT_EQ(token(), "first");
  remove();
  pass(std::chrono::seconds(61));
  EXPECT_EQ(token(), "first");
  write("");
  EXPECT_EQ(token(), "first");
  write("second");
  EXPECT_EQ(token(), "second") << "no need to wait a minute more";
}

TEST_F(TokenFileTest, SaysWhyThereIsNoToken) {
  ASSERT_FALSE(file_.read().ok());
  EXPECT_EQ(file_.read().error().code, ErrorCode::kFatal);
  EXPECT_EQ(token(), path_.string() + ": cannot be read");
  write(" \n");
  EXPECT_EQ(token(), path_.string() + ": empty");
  write(std::string(kFileBytesMax + 1, 't'));
  EXPECT_EQ(token(), path_.string() + ": larger than a token can be");
  write(std::string(kFileBytesMax, 't'));
  EXPECT_EQ(token().size(), kFileBytesMax);
}

TEST_F(TokenFileTest, RefusesADirectory) {
  TokenFile directory(loop_, folder_);
  ASSERT_FALSE(directory.read().ok());
  EXPECT_EQ(directory.read().error().message, folder_.string() + ": cannot be read");
}

}  // namespace
}  // namespace lastcall::net
