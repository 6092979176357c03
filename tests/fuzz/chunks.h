// Cuts a text into chunks as the input says.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace lastcall::fuzz {

// The first bytes of an input say how the rest arrives: in chunks of those sizes, in turn.
struct Chunked {
  std::string_view text;
  std::vector<std::string_view> chunks;
};

inline Chunked cut(const std::uint8_t* data, std::size_t size) {
  static constexpr std::size_t kSizes = 4;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string_view sizes = input.substr(0, kSizes);
  Chunked result{.text = input.substr(sizes.size()), .chunks = {}};
  std::string_view rest = result.text;
  for (std::size_t i = 0; !rest.empty(); ++i) {
    const std::size_t wanted = static_cast<unsigned char>(sizes[i % sizes.size()]);
    const std::string_view chunk = rest.substr(0, std::max<std::size_t>(wanted, 1));
    result.chunks.push_back(chunk);
    rest.remove_prefix(chunk.size());
  }
  return result;
}

}  // namespace lastcall::fuzz
