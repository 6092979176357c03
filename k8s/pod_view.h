// What the own Pod object says about our stop.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "k8s/padded_text.h"
#include "k8s/pod_identity.h"
#include "net/loop.h"
#include "net/result.h"

namespace lastcall::k8s {

using Labels = std::map<std::string, std::string>;

struct PodView {
  // Longer grace periods are cut to this, so that sums of nanoseconds stay far from overflow.
  static constexpr std::chrono::seconds kGracePeriodMax = std::chrono::hours(24 * 365);

  std::string name;
  std::string uid;
  std::string resource_version;
  Labels labels;
  std::map<std::string, std::string> annotations;  // only those lastcall/..
  std::vector<std::string> addresses;              // status.podIPs, else status.podIP
  std::string node_name;
  bool host_network = false;
  std::vector<std::uint16_t> ports;       // container ports of all containers, once each
  std::size_t pre_stop_hooks = 0;         // containers that have one
  std::chrono::seconds grace_period{30};  // spec.terminationGracePeriodSeconds
  // The deadline itself (request time + grace), in the API server's clock, to the second.
  std::optional<net::WallTime> deletion_timestamp;
  std::optional<std::chrono::seconds> deletion_grace_period;
  std::string phase;               // status.phase
  std::string reason;              // status.reason: "Evicted", "Terminated", "NodeShutdown" ..
  bool disruption_target = false;  // a status condition DisruptionTarget=True
};

// How endpoints of this pod are recognised.
[[nodiscard]] PodIdentity identity_of(const PodView& pod);

// kInvalid: not JSON, not a Pod, or a field of the wrong type, with the field named. "kind"
// may be absent: items of a list have none.
[[nodiscard]] net::Result<PodView> parse_pod(const PaddedText& json);

}  // namespace lastcall::k8s
