// What an agent's log tells of the stop of its pod.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "net/loop.h"

namespace lastcall::demo {

struct AgentStory {
  std::optional<net::WallTime> released;
  std::string hold_end;  // why the hold ended: "all-gone"
};

// `log`: JSON lines; lines that are something else are passed over.
[[nodiscard]] AgentStory read_agent_log(std::string_view log);

}  // namespace lastcall::demo
