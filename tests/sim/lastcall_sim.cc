// lastcall_sim --seed N: replays one seed and prints what happened.
// lastcall_sim --seeds A..B: runs many; the first that breaks an invariant is replayed.
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "tests/sim/world.h"

namespace lastcall::sim {
namespace {

// How every stop must end for some seeds, or the faults are too tame to test anything.
constexpr std::string_view kClasses[] = {"all-gone", "blind",  "deadline",   "hold-max",
                                         "unproven", "forced", "unverified", "hook-lost",
                                         "killed"};
// With fewer seeds than this a rare class may be missing by chance.
constexpr std::uint64_t kSeedsForAllClasses = 2'000;

Outcome run(std::uint64_t seed, bool recording) {
  return World(draw_scenario(seed), seed, recording).run();
}

int replay(std::uint64_t seed) {
  const Outcome outcome = run(seed, true);
  for (const auto& line : outcome.journal) std::puts(line.c_str());
  for (const auto& violation : outcome.violations) std::printf("VIOLATED %s\n", violation.c_str());
  std::printf("seed %ju: %s\n", static_cast<std::uintmax_t>(seed), outcome.how.c_str());
  return outcome.violations.empty() ? 0 : 1;
}

int run_all(std::uint64_t first, std::uint64_t last) {
  std::map<std::string, int, std::less<>> counts;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    const Outcome outcome = run(seed, false);
    if (!outcome.violations.empty()) return replay(seed);
    ++counts[outcome.how];
  }
  for (const auto& [how, count] : counts) std::printf("%s %d, ", how.c_str(), count);
  std::printf("of %ju seeds\n", static_cast<std::uintmax_t>(last - first + 1));
  int missing = 0;
  for (const auto how : kClasses) {
    if (last - first + 1 < kSeedsForAllClasses || counts.contains(how)) continue;
    std::printf("no seed ended as %.*s\n", static_cast<int>(how.size()), how.data());
    ++missing;
  }
  return missing == 0 ? 0 : 1;
}

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || rest != text.data() + text.size()) return std::nullopt;
  return value;
}

int main_of(std::string_view option, std::string_view argument) {
  if (option == "--seed") {
    if (const auto seed = number(argument)) return replay(*seed);
  }
  const auto dots = argument.find("..");
  if (option == "--seeds" && dots != std::string_view::npos) {
    const auto first = number(argument.substr(0, dots));
    const auto last = number(argument.substr(dots + 2));
    if (first && last && *first <= *last) return run_all(*first, *last);
  }
  std::fputs("usage: lastcall_sim --seed N | --seeds A..B\n", stderr);
  return 2;
}

}  // namespace
}  // namespace lastcall::sim

int main(int argc, char** argv) {
  return lastcall::sim::main_of(argc == 3 ? argv[1] : "", argc == 3 ? argv[2] : "");
}
