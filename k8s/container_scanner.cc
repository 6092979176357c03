#include "k8s/container_scanner.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace lastcall::k8s {
namespace {

constexpr std::size_t kBlock = 64;
// With this bit set, square brackets look like braces and nothing else does.
constexpr char kCaseBit = 0x20;

// Where the bytes that matter are in a block: bit i stands for byte i.
struct BlockBits {
  std::uint64_t quotes = 0;
  std::uint64_t backslashes = 0;
  std::uint64_t opens = 0;
  std::uint64_t closes = 0;
};

#if defined(__SSE2__)

BlockBits classify(const char* block) {
  const __m128i quote = _mm_set1_epi8('"');
  const __m128i backslash = _mm_set1_epi8('\\');
  const __m128i open = _mm_set1_epi8('{');
  const __m128i close = _mm_set1_epi8('}');
  const __m128i case_bit = _mm_set1_epi8(kCaseBit);

  BlockBits bits;
  for (unsigned part = 0; part < kBlock / 16; ++part) {
    __m128i bytes;
    std::memcpy(&bytes, block + std::size_t{16} * part, sizeof bytes);
    const __m128i folded = _mm_or_si128(bytes, case_bit);
    const auto mask = [part](__m128i equal) {
      return std::uint64_t{static_cast<std::uint16_t>(_mm_movemask_epi8(equal))} << (16 * part);
    };
    bits.quotes |= mask(_mm_cmpeq_epi8(bytes, quote));
    bits.backslashes |= mask(_mm_cmpeq_epi8(bytes, backslash));
    bits.opens |= mask(_mm_cmpeq_epi8(folded, open));
    bits.closes |= mask(_mm_cmpeq_epi8(folded, close));
  }
  return bits;
}

#else

static_assert(std::endian::native == std::endian::little);

constexpr std::uint64_t in_each_byte(unsigned char byte) { return 0x0101010101010101 * byte; }

// Bit i of the answer: whether byte i of `word` is `byte`.
std::uint64_t equal_bytes(std::uint64_t word, char byte) {
  constexpr std::uint64_t kLowBits = in_each_byte(0x7F);
  const std::uint64_t difference = word ^ in_each_byte(static_cast<unsigned char>(byte));
  const std::uint64_t non_zero = ((difference & kLowBits) + kLowBits) | difference;
  const std::uint64_t high_bits = ~(non_zero | kLowBits);
  // The product brings bit 8 * i to bit 56 + i.
  return (high_bits >> 7) * 0x0102040810204080 >> 56;
}

BlockBits classify(const char* block) {
  BlockBits bits;
  for (unsigned part = 0; part < kBlock / 8; ++part) {
    std::uint64_t word = 0;
    std::memcpy(&word, block + std::size_t{8} * part, sizeof word);
    const std::uint64_t folded = word | in_each_byte(kCaseBit);
    bits.quotes |= equal_bytes(word, '"') << (8 * part);
    bits.backslashes |= equal_bytes(word, '\\') << (8 * part);
    bits.opens |= equal_bytes(folded, '{') << (8 * part);
    bits.closes |= equal_bytes(folded, '}') << (8 * part);
  }
  return bits;
}

#endif

BlockBits classify_part(std::string_view part) {
  std::array<char, kBlock> block;
  block.fill(' ');
  part.copy(block.data(), part.size());
  return classify(block.data());
}

// Bit i of the answer is the parity of bits 0..i: set from each opening quote up to, without,
// its closing one.
std::uint64_t between_quotes(std::uint64_t quotes) {
  for (unsigned shift = 1; shift < kBlock; shift *= 2) quotes ^= quotes << shift;
  return quotes;
}

// The bytes that a backslash takes away the meaning of. `carry`: whether the block's first
// byte is one, and afterwards whether the byte behind its `size` bytes is.
std::uint64_t escaped_bytes(std::uint64_t backslashes, std::size_t size, bool& carry) {
  std::uint64_t escaped = carry ? 1 : 0;
  backslashes &= ~escaped;
  carry = false;
  while (backslashes != 0) {
    const auto at = static_cast<unsigned>(std::countr_zero(backslashes));
    if (at + 1 == size) {
      carry = true;
    } else {
      escaped |= std::uint64_t{2} << at;
    }
    backslashes &= ~(std::uint64_t{3} << at);
  }
  return escaped;
}

}  // namespace

ContainerScanner::Progress ContainerScanner::feed(std::string_view bytes) {
  for (std::size_t at = 0; at < bytes.size(); at += kBlock) {
    const std::size_t size = std::min(kBlock, bytes.size() - at);
    const BlockBits bits =
        size == kBlock ? classify(bytes.data() + at) : classify_part(bytes.substr(at, size));

    const std::uint64_t escaped = escaped_bytes(bits.backslashes, size, escape_);
    const std::uint64_t carried = in_string_ ? ~std::uint64_t{0} : 0;
    const std::uint64_t strings = between_quotes(bits.quotes & ~escaped) ^ carried;
    in_string_ = (strings >> (size - 1) & 1) != 0;

    const std::uint64_t opens = bits.opens & ~strings;
    const std::uint64_t closes = bits.closes & ~strings;
    const int open_count = std::popcount(opens);
    const int close_count = std::popcount(closes);
    if (close_count < depth_ && depth_ + open_count <= kDepthMax) {
      depth_ += open_count - close_count;
      continue;
    }
    for (std::uint64_t rest = opens | closes; rest != 0; rest &= rest - 1) {
      const std::uint64_t lowest = rest & (~rest + 1);
      depth_ += (opens & lowest) != 0 ? 1 : -1;
      if (depth_ > kDepthMax) return {.bytes = bytes.size(), .outcome = Outcome::kTooDeep};
      if (depth_ == 0) {
        const auto offset = static_cast<std::size_t>(std::countr_zero(lowest));
        return {.bytes = at + offset + 1, .outcome = Outcome::kEnd};
      }
    }
  }
  return {.bytes = bytes.size(), .outcome = Outcome::kMore};
}

}  // namespace lastcall::k8s
