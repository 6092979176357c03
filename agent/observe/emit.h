// How observers tell the decision what they saw.
#pragma once

#include <functional>

#include "agent/core/drain.h"

namespace lastcall::observe {

using Emit = std::function<void(core::Event)>;

}  // namespace lastcall::observe
