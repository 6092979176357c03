// The command line.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "tests/demo/replica.h"
#include "tests/demo/scene.h"

namespace lastcall::demo {

struct DemoOptions {
  Scene scene;
  std::vector<Strategy> strategies;  // not empty
  std::string json;                  // path; empty: none
  std::string svg;                   // path; empty: where default_svg() says
  std::string bin_dir;               // empty: look beside this program
};

// Nothing is to be run: --help was asked for, or the command line is wrong (and that was said).
struct ExitNow {
  int code = 0;
};

using Options = std::variant<DemoOptions, ReplicaOptions, ExitNow>;

inline constexpr int kExitLossless = 0;
inline constexpr int kExitLost = 1;
inline constexpr int kExitCannotRun = 2;

[[nodiscard]] Options parse_options(int argc, const char* const* argv);

}  // namespace lastcall::demo
