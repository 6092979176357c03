// `lastcall-hook wait`: a preStop hook that ends when the agent releases the pod.
#pragma once

#include "agent/hook/options.h"

namespace lastcall::hook {

// Returns when the container may be stopped; it never fails, because a failing preStop hook
// stops the container at once. Every reason but the agent's release is said in the log.
void wait(const WaitOptions& options);

}  // namespace lastcall::hook
