// The runs as a picture.
#pragma once

#include <string>
#include <vector>

#include "tests/demo/recording.h"
#include "tests/demo/scene.h"

namespace lastcall::demo {

// A self-contained SVG document: one panel per run, all with the same scale of time. Each shows
// the requests of every 100 ms, failed ones in red, and below them the phases of every pod.
[[nodiscard]] std::string draw(const Scene& scene, const std::vector<Recording>& recordings);

}  // namespace lastcall::demo
