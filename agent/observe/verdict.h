// What an observer makes of everything it sees of one consumer.
#pragma once

#include <optional>
#include <string>

#include "agent/core/drain.h"

namespace lastcall::observe {

struct Verdict {
  core::Presence presence;
  std::string detail;                                 // for people
  std::optional<core::Instant> since = std::nullopt;  // of a withdrawal that took time to prove

  friend bool operator==(const Verdict&, const Verdict&) = default;
};

}  // namespace lastcall::observe
