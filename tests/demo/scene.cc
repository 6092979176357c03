#include "tests/demo/scene.h"

#include <charconv>

namespace lastcall::demo {
namespace {

constexpr std::string_view kSleep = "sleep";
// Five seconds less than the grace period: with less, the kubelet cuts the sleep short.
constexpr int kSleepMax = 25;

}  // namespace

std::string to_string(const Strategy& strategy) {
  switch (strategy.pre_stop) {
    case PreStop::kNone:
      return "none";
    case PreStop::kSleep:
      return std::string(kSleep) + " " + std::to_string(strategy.sleep.count());
    case PreStop::kLastcall:
      return "lastcall";
  }
  return "?";
}

std::optional<Strategy> parse_strategy(std::string_view text) {
  if (text == "none") return Strategy{};
  if (text == "lastcall") return Strategy{PreStop::kLastcall, {}};
  if (!text.starts_with(kSleep)) return std::nullopt;
  text.remove_prefix(kSleep.size());
  if (text.starts_with(' ') || text.starts_with('-')) text.remove_prefix(1);
  int count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (count < 1 || count > kSleepMax) return std::nullopt;
  return Strategy{PreStop::kSleep, seconds(count)};
}

}  // namespace lastcall::demo
