// The state as JSON, for people and for `lastcall status`.
#pragma once

#include <string>
#include <vector>

#include "agent/core/drain.h"

namespace lastcall::serve {

struct Identity {
  std::string pod_namespace;
  std::string pod_name;
  std::string version;
};

// What was found odd on the way, and was passed over.
struct Findings {
  struct Ignored {
    std::string service;  // "checkout"
    std::string why;
  };
  struct Malformed {
    std::string object;  // "Service shop/checkout"
    std::string key;
    std::string value;
    std::string error;
  };
  std::vector<Ignored> ignored;
  std::vector<Malformed> malformed;
};

// Durations are seconds; points in time are seconds relative to `now`, negative in the past.
[[nodiscard]] std::string status_json(const core::Snapshot& snapshot, const Identity& identity,
                                      const Findings& findings, core::Instant now);

}  // namespace lastcall::serve
