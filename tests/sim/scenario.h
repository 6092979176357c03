// One stop of one pod, as data: what happens when, and how bad the network is.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/settings.h"
#include "net/loop.h"
#include "tests/fakes/fake_api_server.h"
#include "tests/sim/sim_network.h"

namespace lastcall::sim {

using Millis = std::chrono::milliseconds;

// Who waits for the release.
enum class HookKind {
  kKubelet,  // preStop.httpGet on the pod-facing listener: a broken connection is the end of it
  kLocal,    // lastcall-hook on the local listener: comes back after a broken connection
  kNone,     // no container has a hook: the agent, a plain sidecar, gets its SIGTERM at once
};

// What ends the pod.
enum class StopKind {
  kDeletion,
  kForceDeletion,  // the object goes at once; the kubelet grants the grace period all the same
  kApiEviction,    // a deletion, with DisruptionTarget
  // By the kubelet, once its status has been published: no deletionTimestamp.
  kShutdown,  // of the node: slices never change
  kEviction,  // the pod has failed and leaves its slices
  // By the kubelet, as long as hooks run: the Pod shows nothing, only its Node does (kubernetes
  // 1.36, status_manager.go), and slices never change.
  kNodeShutdown,
  kNodePressure,
};

[[nodiscard]] const char* to_string(StopKind stop);
// Whether the Pod says what ends it.
[[nodiscard]] inline bool shows_in_pod(StopKind stop) {
  return stop != StopKind::kNodeShutdown && stop != StopKind::kNodePressure;
}

// What one Service is like, and what it says.
struct ServiceTraits {
  bool headless = false;
  bool publish_not_ready = false;
  bool local_only = false;
  std::optional<Millis> settle{};  // annotation lastcall/settle
};

// The controller of the legacy Endpoints.
struct LegacyTraits {
  Millis controller_delay{500};
  std::size_t endpoints_max = 1000;
  std::optional<Millis> off_at{};  // it is switched off: what it wrote stays
};

// A Service without a selector lists our address in a slice that somebody else writes.
struct SliceByHand {
  std::optional<Millis> until{};  // none: for ever
};

// A Service that comes, goes or turns away from the pod.
struct ServiceChange {
  enum class Kind {
    kCreated,       // with the pods of `service` behind it
    kCreatedAlone,  // with our pod alone behind it
    kDeleted,
    kRelabelled,
  };
  Millis at{};
  Kind kind = Kind::kCreated;
  std::size_t service = 0;
};

// Instants are counted from the start of the world.
struct Scenario {
  // The pod and its settings.
  std::chrono::seconds grace{30};
  Millis settle{3'000};
  Millis blind{25'000};
  Millis margin{1'000};
  std::optional<Millis> reserve{};
  std::optional<Millis> hold_max{};
  bool ignore_last_resort = false;
  HookKind hook = HookKind::kLocal;
  int containers = 1;  // that have this hook
  bool watch_pod = false;

  // The cluster.
  std::vector<int> others{2};           // for each Service: how many other pods stand behind it
  std::vector<ServiceTraits> traits{};  // of the first Services; the rest are ordinary
  bool dual_stack = false;
  std::size_t endpoints_max = 100;
  bool duplicated = false;  // the own entry stands in two slices
  Millis controller_delay{500};
  Millis write_gap{0};
  bool other_node = false;  // the other pods run on another node than ours
  // Our pod and the first of the others have the address of their host, and another port each.
  bool host_network = false;
  std::optional<SliceByHand> by_hand{};
  // Legacy Endpoints, written by their own controller. None: there are none, and the agent does
  // not look at them.
  std::optional<LegacyTraits> legacy{};
  bool node_readable = false;  // by the agent's role
  bool pod_watch_forbidden = false;
  bool services_forbidden = false;
  bool slices_forbidden = false;

  // What happens.
  std::optional<Millis> liveness_at{};  // the container restarts, the pod lives on
  StopKind stop = StopKind::kDeletion;
  Millis stop_at{5'000};
  Millis hook_delay{50};  // from then until the kubelet runs the hook
  // A second DELETE. Without grace the object goes, and the kubelet stays with what it granted.
  struct Shortening {
    Millis after{};  // the first DELETE
    std::chrono::seconds grace{};
    bool hook_again = true;
  };
  std::optional<Shortening> shortening{};
  std::optional<Millis> kubelet_restart_at{};  // it forgets its hooks, and runs them again
  std::vector<Millis> sigterms_at{};           // to the agent, beside that at the end of a stop
  std::optional<Millis> others_fail_at{};      // all other pods turn not ready
  std::optional<Millis> replacement_at{};      // and another becomes ready
  std::vector<ServiceChange> service_changes{};
  std::vector<Millis> moves_at{};  // the own entry moves to another slice
  Millis move_gap{10};
  std::optional<Millis> operator_release_at{};
  // Anything else that is done to the cluster: before the agent starts, and later.
  std::function<void(fakes::FakeApiServer&)> arrange{};
  std::vector<std::pair<Millis, std::function<void(fakes::FakeApiServer&)>>> interventions{};
  // And to the agent's settings.
  std::function<void(config::Settings&)> configure{};

  // What answers in the API server's place, from when on: given a path and query.
  std::optional<Millis> impostor_from{};
  std::function<std::optional<HostileAnswer>(const std::string&)> impostor{};

  // Troubles.
  Faults faults{};
  std::optional<Millis> down_from{};
  std::optional<Millis> down_until{};  // none: for ever
  std::optional<Millis> down_again_from{};
  std::vector<Millis> restarts_at{};      // the agent is killed and started anew
  std::vector<Millis> rotations_at{};     // the old token is refused from then on
  std::optional<Millis> token_lost_at{};  // its file is emptied, and the old one refused
  std::vector<Millis> compactions_at{};
  std::vector<Millis> closures_at{};  // the server ends its watches
  std::vector<Millis> wall_jumps_at{};
  std::optional<Millis> healed_at{};  // no faults of any kind from then on

  [[nodiscard]] ServiceTraits traits_of(std::size_t service) const {
    return service < traits.size() ? traits[service] : ServiceTraits{};
  }
};

// The name of a Service, and which it is.
[[nodiscard]] std::string service_name(std::size_t index);

// What this seed stands for.
[[nodiscard]] Scenario draw_scenario(std::uint64_t seed);

}  // namespace lastcall::sim
