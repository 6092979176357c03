// From what the operator said to what the decision works with.
#pragma once

#include "agent/core/drain.h"
#include "config/settings.h"

namespace lastcall::agent {

[[nodiscard]] core::Policy policy_from(const config::Settings& settings);

}  // namespace lastcall::agent
