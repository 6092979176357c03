// What the demo plays: a Service under load whose replicas are replaced one after the other,
// behind a control plane that takes its time.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lastcall::demo {

using std::chrono::milliseconds;
using std::chrono::seconds;

enum class PreStop { kNone, kSleep, kLastcall };

// How the pods of one rollout are stopped.
struct Strategy {
  PreStop pre_stop = PreStop::kNone;
  seconds sleep{0};  // kSleep only

  friend bool operator==(const Strategy&, const Strategy&) = default;
};

// "none", "sleep 2", "lastcall".
[[nodiscard]] std::string to_string(const Strategy& strategy);
// Takes also "sleep-2" and "sleep2"; a sleep is 1 to 25 seconds.
[[nodiscard]] std::optional<Strategy> parse_strategy(std::string_view text);

struct Scene {
  int replicas = 3;
  int rate = 200;                   // requests per second, each on a new connection
  milliseconds slice_lag{4000};     // from a change of a pod to its EndpointSlice
  milliseconds balancer_lag{1200};  // from there to the balancer's choice
  milliseconds start_time{750};     // from a pod's creation to its first answer
  std::uint64_t seed = 1;
};

}  // namespace lastcall::demo
