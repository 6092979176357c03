#include "agent/hook/answer.h"

#include <algorithm>

namespace lastcall::hook {

Answer parse_answer(std::string_view received) {
  constexpr std::string_view kPattern = "HTTP/1.# ###";  // # is any digit
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const std::size_t known = std::min(received.size(), kPattern.size());
  for (std::size_t i = 0; i < known; ++i) {
    const bool fits = kPattern[i] == '#' ? is_digit(received[i]) : received[i] == kPattern[i];
    if (!fits) return Answer::kGarbage;
  }
  if (received.size() <= kPattern.size()) return Answer::kIncomplete;
  const char next = received[kPattern.size()];
  if (next != ' ' && next != '\r' && next != '\n') return Answer::kGarbage;
  if (received.find('\n') == received.npos) {
    return received.size() < kStatusLineBytesMax ? Answer::kIncomplete : Answer::kGarbage;
  }
  return received.substr(kPattern.size() - 3, 3) == "200" ? Answer::kReleased : Answer::kRefused;
}

}  // namespace lastcall::hook
