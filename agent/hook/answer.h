// The agent's answer to POST /hold, as far as it matters here: the status line (RFC 9112, 4).
#pragma once

#include <cstddef>
#include <string_view>

namespace lastcall::hook {

inline constexpr std::size_t kStatusLineBytesMax = 256;

enum class Answer {
  kIncomplete,  // may still become a status line
  kReleased,    // 200
  kRefused,     // another status
  kGarbage,     // not HTTP
};

// What `received`, the first bytes of the answer, says.
[[nodiscard]] Answer parse_answer(std::string_view received);

}  // namespace lastcall::hook
