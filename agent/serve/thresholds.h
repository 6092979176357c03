// Thresholds and their arithmetic as JSON, for /status and `lastcall check`.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "agent/core/drain.h"

namespace lastcall::serve {

using Json = nlohmann::ordered_json;

// Each with its source; durations in seconds, null where the deadline decides.
[[nodiscard]] Json thresholds_json(const core::Thresholds& thresholds);

// null: the grace period is not known.
[[nodiscard]] Json budget_json(const std::optional<core::Budget>& budget);

}  // namespace lastcall::serve
