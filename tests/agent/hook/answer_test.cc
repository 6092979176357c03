#include "agent/hook/answer.h"

#include <string>

#include <gtest/gtest.h>

namespace lastcall::hook {
namespace {

TEST(HookAnswer, Of200IsTheRelease) {
  EXPECT_EQ(parse_answer("HTTP/1.1 200 OK\r\n"), Answer::kReleased);
  EXPECT_EQ(parse_answer("HTTP/1.0 200\r\nContent-Length: 0\r\n\r\n"), Answer::kReleased);
  EXPECT_EQ(parse_answer("HTTP/1.1 200\n"), Answer::kReleased);
}

TEST(HookAnswer, OfAnotherStatusIsNone) {
  for (const std::string status : {"100", "201", "204", "302", "400", "503", "020"}) {
    EXPECT_EQ(parse_answer("HTTP/1.1 " + status + " Whatever\r\n"), Answer::kRefused) << status;
  }
}

TEST(HookAnswer, IsIncompleteUntilTheEndOfItsFirstLine) {
  const std::string line = "HTTP/1.1 200 OK\r";
  for (std::size_t size = 0; size <= line.size(); ++size) {
    EXPECT_EQ(parse_answer(line.substr(0, size)), Answer::kIncomplete) << size;
  }
}

TEST(HookAnswer, ThatIsNotHttpIsKnownByItsFirstWrongByte) {
  for (const std::string text : {"x", "HTTP/2", "HTTP/1.x", "HTTP/1.1 2x", "HTTP/1.1 2000",
                                 "HTTP/1.1  200", "\r\nHTTP/1.1 200 OK\r\n", "SSH-2.0-x\r\n"}) {
    EXPECT_EQ(parse_answer(text), Answer::kGarbage) << text;
  }
}

TEST(HookAnswer, WithAnEndlessFirstLineIsGarbage) {
  std::string text = "HTTP/1.1 200 ";
  text.resize(kStatusLineBytesMax - 1, 'a');
  EXPECT_EQ(parse_answer(text), Answer::kIncomplete);
  EXPECT_EQ(parse_answer(text + "a"), Answer::kGarbage);
  EXPECT_EQ(parse_answer(text + "\n"), Answer::kReleased);
}

}  // namespace
}  // namespace lastcall::hook
