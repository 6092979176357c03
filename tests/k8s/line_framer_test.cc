#include "k8s/line_framer.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace lastcall::k8s {
namespace {

using Lines = std::vector<std::string>;

class Framing {
 public:
  net::Status feed(std::string_view chunk) {
    return framer.feed(chunk, [this](const PaddedText& line) {
      lines.emplace_back(line.view());
      return lines.size() < stop_after;
    });
  }

  LineFramer framer;
  Lines lines;
  std::size_t stop_after = 1'000'000;
};

TEST(LineFramer, GivesTheSameLinesForEverySplit) {
  const std::string text = "{\"a\":1}\n{\"b\":2}\r\n\n  \n{}\nhalf";
  const Lines expected = {"{\"a\":1}", "{\"b\":2}\r", "{}"};
  for (std::size_t first = 0; first <= text.size(); ++first) {
    for (std::size_t second = first; second <= text.size(); ++second) {
      Framing framing;
      ASSERT_TRUE(framing.feed(std::string_view(text).substr(0, first)).ok());
      ASSERT_TRUE(framing.feed(std::string_view(text).substr(first, second - first)).ok());
      ASSERT_TRUE(framing.feed(std::string_view(text).substr(second)).ok());
      ASSERT_EQ(framing.lines, expected);
    }
  }
}

TEST(LineFramer, ResetDropsHalfALine) {
  Framing framing;
  ASSERT_TRUE(framing.feed("half").ok());
  framing.framer.reset();
  ASSERT_TRUE(framing.feed("whole\n").ok());
  EXPECT_EQ(framing.lines, Lines({"whole"}));
}

TEST(LineFramer, StopsWhenTold) {
  Framing framing;
  framing.stop_after = 1;
  ASSERT_TRUE(framing.feed("one\ntwo\nthree\n").ok());
  EXPECT_EQ(framing.lines, Lines({"one"}));
}

TEST(LineFramer, RefusesAnEndlessLine) {
  Framing framing;
  const std::string chunk(64 * 1024, 'x');
  std::size_t fed = 0;
  net::Status status = net::Done{};
  while (status.ok() && fed < 2 * LineFramer::kLineBytesMax) {
    status = framing.feed(chunk);
    fed += chunk.size();
  }
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, net::ErrorCode::kInvalid);
  EXPECT_EQ(fed, LineFramer::kLineBytesMax + chunk.size());
}

TEST(LineFramer, TakesALineAtTheBound) {
  Framing framing;
  ASSERT_TRUE(framing.feed(std::string(LineFramer::kLineBytesMax, 'x') + "\n").ok());
  ASSERT_EQ(framing.lines.size(), 1U);
  EXPECT_EQ(framing.lines[0].size(), LineFramer::kLineBytesMax);
}

}  // namespace
}  // namespace lastcall::k8s
