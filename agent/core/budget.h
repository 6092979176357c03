// The arithmetic of grace periods.
#pragma once

#include "agent/core/drain.h"

namespace lastcall::core {

// What `grace` leaves for the hold of a pod with this policy and these consumers.
[[nodiscard]] Budget budget(Duration grace, const Policy& policy,
                            const std::vector<ConsumerState>& consumers);

// What is kept of `grace` when nobody has asked for more or less: 10 s, or a third of it if that
// is less.
[[nodiscard]] Duration usual_reserve(Duration grace);

}  // namespace lastcall::core
