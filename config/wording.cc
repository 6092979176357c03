#include "config/wording.h"

#include <algorithm>
#include <cstddef>

namespace lastcall::config {
namespace {

constexpr std::size_t kPrintableBytesMax = 60;
constexpr std::size_t kWordBytesMax = 64;

// Steps between two words (optimal string alignment), by rows of the usual table.
std::size_t steps_between(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> above(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = a[i - 1] == b[j - 1] ? 0 : 1;
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + changed});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(above);
    above.swap(row);
  }
  return above[b.size()];
}

}  // namespace

std::string printable(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string result;
  for (const char c : text.substr(0, kPrintableBytesMax)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      result += c;
    } else {
      result += "\\x";
      result += kHex[byte / 16U];
      result += kHex[byte % 16U];
    }
  }
  if (text.size() > kPrintableBytesMax) result += "...";
  return result;
}

std::string in_quotes(std::string_view text) {
  std::string result(1, '\'');
  result += printable(text);
  result += '\'';
  return result;
}

std::string not_expected(std::string_view found, std::string_view expected) {
  return in_quotes(found) + ", expected " + std::string(expected);
}

std::string_view nearest(std::string_view word, const std::vector<std::string_view>& candidates) {
  if (word.size() > kWordBytesMax) return {};
  std::string_view best;
  std::size_t best_steps = 1 + std::max<std::size_t>(1, word.size() / 4);
  for (const std::string_view candidate : candidates) {
    const std::size_t steps = steps_between(word, candidate);
    if (steps >= best_steps) continue;
    best = candidate;
    best_steps = steps;
  }
  return best;
}

std::string unknown(std::string_view thing, std::string_view word,
                    const std::vector<std::string_view>& candidates) {
  std::string text = "unknown ";
  text += thing;
  const std::string_view guess = nearest(word, candidates);
  if (!guess.empty()) {
    text += ", did you mean ";
    text += guess;
    text += "?";
  }
  return text;
}

}  // namespace lastcall::config
