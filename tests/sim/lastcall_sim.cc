// lastcall_sim --seed N: replays one seed and prints what happened.
// lastcall_sim --seeds A..B: runs many, and replays the first that broke an invariant.
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/sim/world.h"

namespace lastcall::sim {
namespace {

// How every stop must end for some seeds, or the faults are too tame to test anything.
constexpr std::string_view kClasses[] = {"all-gone",  "blind",  "deadline",   "hold-max",
                                         "unproven",  "forced", "unverified", "container-restart",
                                         "hook-lost", "killed"};
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

struct Tally {
  std::uint64_t seeds = 0;
  std::map<std::string, int, std::less<>> ended_as;
  std::vector<std::uint64_t> failed;
};

Tally run_seeds(std::uint64_t first, std::uint64_t last) {
  Tally tally;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    const Outcome outcome = run(seed, false);
    ++tally.seeds;
    ++tally.ended_as[outcome.how];
    if (!outcome.violations.empty()) tally.failed.push_back(seed);
  }
  return tally;
}

bool has_all_classes(const Tally& tally) {
  if (tally.seeds < kSeedsForAllClasses) return true;
  bool all = true;
  for (const auto how : kClasses) {
    if (tally.ended_as.contains(how)) continue;
    std::printf("no seed ended as %.*s\n", static_cast<int>(how.size()), how.data());
    all = false;
  }
  return all;
}

int run_all(std::uint64_t first, std::uint64_t last) {
  const Tally tally = run_seeds(first, last);
  if (!tally.failed.empty()) replay(tally.failed.front());
  for (const auto& [how, count] : tally.ended_as) std::printf("%s %d, ", how.c_str(), count);
  std::printf("of %ju seeds\n", static_cast<std::uintmax_t>(tally.seeds));
  for (const auto seed : tally.failed) {
    std::printf("failed: --seed %ju\n", static_cast<std::uintmax_t>(seed));
  }
  return has_all_classes(tally) && tally.failed.empty() ? 0 : 1;
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
