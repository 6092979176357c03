// What every text that ends in a log line must be.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace lastcall::fuzz {

// Printable ASCII, thus one line, of 1 to `bytes_max` bytes.
inline bool is_printable_line(std::string_view text, std::size_t bytes_max) {
  return !text.empty() && text.size() <= bytes_max &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

}  // namespace lastcall::fuzz
