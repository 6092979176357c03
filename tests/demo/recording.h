// What was seen of one rollout, for the table and the drawing.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "net/loop.h"
#include "tests/demo/scene.h"

namespace lastcall::demo {

struct Sample {
  net::Instant at;  // when it was sent
  bool ok;
};

// The moments of a pod's life; those that never came are not set.
struct PodLife {
  std::string name{};
  std::string address{};
  bool old = false;  // to be replaced
  std::optional<net::Instant> created{};
  std::optional<net::Instant> ready{};
  std::optional<net::Instant> routed{};           // the balancer may choose it
  std::optional<net::Instant> deleted{};          // the DELETE
  std::optional<net::Instant> slice_withdrawn{};  // its EndpointSlice says so
  std::optional<net::Instant> unrouted{};         // the balancer does not choose it any more
  std::optional<net::Instant> stopped{};          // the application's process has gone
  std::optional<net::Instant> gone{};             // the Pod object has gone

  // As its agent's log tells; empty without one.
  std::optional<net::Instant> agent_released{};
  std::string agent_hold_end{};  // "all-gone"
};

struct Recording {
  Strategy strategy;
  net::Instant load_began;
  net::Instant rollout_began;
  net::Instant rollout_ended;  // the last old pod has gone
  net::Instant load_ended;
  std::deque<PodLife> pods;  // stays where it is as it grows
  std::vector<Sample> samples;
  std::size_t failed = 0;  // of the samples

  // nullptr when there is none of that name.
  [[nodiscard]] PodLife* pod(const std::string& name) {
    for (auto& pod : pods) {
      if (pod.name == name) return &pod;
    }
    return nullptr;
  }
};

}  // namespace lastcall::demo
