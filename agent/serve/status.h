// The state as JSON, for people and for `lastcall status`.
#pragma once

#include <string>

#include "agent/core/drain.h"

namespace lastcall::serve {

struct Identity {
  std::string pod_namespace;
  std::string pod_name;
  std::string version;
};

// Durations are seconds; points in time are seconds relative to `now`, negative in the past.
[[nodiscard]] std::string status_json(const core::Snapshot& snapshot, const Identity& identity,
                                      core::Instant now);

}  // namespace lastcall::serve
