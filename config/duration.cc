#include "config/duration.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace lastcall::config {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t milliseconds;
};

constexpr std::array<Unit, 4> kUnits{{{"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}}};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Takes the leading digits off `text`. nullopt when there are none or they mean more than
// the longest duration has milliseconds, which also keeps the arithmetic from overflowing.
std::optional<std::int64_t> take_count(std::string_view& text) {
  std::int64_t count = 0;
  std::size_t digits = 0;
  for (; digits < text.size() && is_digit(text[digits]); ++digits) {
    count = count * 10 + (text[digits] - '0');
    if (count > kDurationMax.count()) return std::nullopt;
  }
  if (digits == 0) return std::nullopt;
  text.remove_prefix(digits);
  return count;
}

// Takes the leading unit off `text` and returns its place in kUnits.
std::optional<std::size_t> take_unit(std::string_view& text) {
  std::size_t letters = 0;
  while (letters < text.size() && !is_digit(text[letters])) ++letters;
  const std::string_view name = text.substr(0, letters);
  for (std::size_t i = 0; i < kUnits.size(); ++i) {
    if (kUnits[i].name != name) continue;
    text.remove_prefix(letters);
    return i;
  }
  return std::nullopt;
}

// `count` milliseconds in the units of which `units` has the bit set, largest first; empty
// when they cannot express it.
std::string spell(std::int64_t count, unsigned units) {
  std::string text;
  for (std::size_t i = 0; i < kUnits.size(); ++i) {
    if ((units & (1U << i)) == 0 || count < kUnits[i].milliseconds) continue;
    text += std::to_string(count / kUnits[i].milliseconds);
    text += kUnits[i].name;
    count %= kUnits[i].milliseconds;
  }
  return count == 0 ? text : std::string();
}

}  // namespace

std::optional<Milliseconds> parse_duration(std::string_view text) {
  if (text == "0") return Milliseconds(0);
  if (text.empty()) return std::nullopt;
  std::int64_t total = 0;
  std::size_t next_unit = 0;
  while (!text.empty()) {
    const std::optional<std::int64_t> count = take_count(text);
    if (!count) return std::nullopt;
    const std::optional<std::size_t> unit = take_unit(text);
    // From large to small and each once: "5m5m" is more likely a slip than a sum.
    if (!unit || *unit < next_unit) return std::nullopt;
    next_unit = *unit + 1;
    total += *count * kUnits[*unit].milliseconds;
    if (total > kDurationMax.count()) return std::nullopt;
  }
  return Milliseconds(total);
}

std::string format_duration(Milliseconds duration) {
  if (duration.count() == 0) return "0";
  std::string shortest;
  for (unsigned units = 1; units < (1U << kUnits.size()); ++units) {
    std::string text = spell(duration.count(), units);
    if (!text.empty() && (shortest.empty() || text.size() < shortest.size())) {
      shortest = std::move(text);
    }
  }
  return shortest;
}

}  // namespace lastcall::config
