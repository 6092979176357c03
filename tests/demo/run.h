// One rollout under load, with one strategy.
#pragma once

#include <ostream>

#include "net/result.h"
#include "tests/demo/recording.h"
#include "tests/demo/scene.h"
#include "tests/demo/stage.h"

namespace lastcall::demo {

// Plays it on `stage` in real time, tells of it on `out` and returns what was seen. `number`
// is different for each run, 1 to 250. kFatal when a part of the demo itself does not work, or
// its loop was stopped from outside.
[[nodiscard]] net::Result<Recording> play(const Stage& stage, const Scene& scene,
                                          const Strategy& strategy, int number, std::ostream& out);

}  // namespace lastcall::demo
