// The Kubernetes objects that a stop is about, and their JSON as a Go API server prints it.
#pragma once

#include <array>
#include <chrono>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "net/loop.h"

namespace lastcall::fakes {

using Labels = std::map<std::string, std::string>;

struct Pod {
  std::string name{};
  std::string uid{};  // filled in when it is stored, if empty
  Labels labels{};
  Labels annotations{};
  std::vector<std::string> ips{};
  std::string node = "node-a";
  std::vector<std::uint16_t> ports{8080};
  std::map<std::string, std::uint16_t> named_ports{};  // beside `ports`
  bool ready = true;
  bool host_network = false;
  std::chrono::seconds grace{30};
  std::string phase = "Running";
  std::string reason{};
  bool disruption_target = false;
  // Set by a DELETE: request time + grace.
  std::optional<net::WallTime> deletion_timestamp{};
  std::optional<std::chrono::seconds> deletion_grace{};

  friend bool operator==(const Pod&, const Pod&) = default;
};

struct ServicePort {
  std::string name{};
  std::uint16_t port = 80;
  std::uint16_t target = 8080;
  std::string target_name{};  // when not empty, the target is each pod's port of this name

  friend bool operator==(const ServicePort&, const ServicePort&) = default;
};

struct Service {
  std::string name{};
  Labels selector{};
  Labels annotations{};
  bool headless = false;
  bool publish_not_ready = false;
  bool local_only = false;  // externalTrafficPolicy: Local
  std::vector<ServicePort> ports{ServicePort{}};

  friend bool operator==(const Service&, const Service&) = default;
};

struct Endpoint {
  std::string pod{};  // targetRef.name
  std::string uid{};  // targetRef.uid; empty: no targetRef
  std::string address{};
  std::string node{};
  bool ready = true;
  bool serving = true;
  bool terminating = false;

  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

struct EndpointPort {
  std::string name{};
  std::uint16_t port = 8080;

  friend auto operator<=>(const EndpointPort&, const EndpointPort&) = default;
};

inline constexpr std::string_view kSliceController = "endpointslice-controller.k8s.io";

struct Slice {
  std::string name{};
  std::string service{};                     // empty: no such label
  std::string managed_by{kSliceController};  // empty: no such label
  bool ipv6 = false;
  std::vector<EndpointPort> ports{EndpointPort{}};
  std::vector<Endpoint> endpoints{};

  friend bool operator==(const Slice&, const Slice&) = default;
};

struct SubsetAddress {
  std::string ip{};
  std::string pod{};  // targetRef.name
  std::string uid{};  // targetRef.uid; empty: no targetRef
  std::string node{};

  friend auto operator<=>(const SubsetAddress&, const SubsetAddress&) = default;
};

struct Subset {
  std::vector<SubsetAddress> ready{};      // addresses
  std::vector<SubsetAddress> not_ready{};  // notReadyAddresses
  std::vector<EndpointPort> ports{};

  friend bool operator==(const Subset&, const Subset&) = default;
};

// The legacy Endpoints object, of the name of its Service.
struct Endpoints {
  std::string name{};
  Labels labels{};
  bool truncated = false;
  std::vector<Subset> subsets{};

  friend bool operator==(const Endpoints&, const Endpoints&) = default;
};

// Cluster-scoped.
struct Node {
  std::string name{};
  std::string ready_status = "True";
  std::string ready_message = "kubelet is posting ready status";
  std::vector<std::string> pressures{};  // of MemoryPressure, DiskPressure and PIDPressure

  friend bool operator==(const Node&, const Node&) = default;
};

using Spec = std::variant<Pod, Service, Slice, Endpoints, Node>;

// In the order of Spec.
enum class Resource { kPods, kServices, kSlices, kEndpoints, kNodes };
inline constexpr std::array kResources{Resource::kPods, Resource::kServices, Resource::kSlices,
                                       Resource::kEndpoints, Resource::kNodes};

[[nodiscard]] Resource resource_of(const Spec& spec);
[[nodiscard]] const std::string& name_of(const Spec& spec);
// metadata.labels as a selector sees them.
[[nodiscard]] Labels labels_of(const Spec& spec);

[[nodiscard]] std::string_view plural(Resource resource);       // "endpointslices"
[[nodiscard]] std::string_view kind(Resource resource);         // "EndpointSlice"
[[nodiscard]] std::string_view api_version(Resource resource);  // "discovery.k8s.io/v1"

// What the server knows about an object beside its Spec.
struct Metadata {
  std::string namespace_name;  // empty: cluster-scoped
  std::string uid;
  std::uint64_t resource_version = 0;
  net::WallTime created;
};

// The object without kind and apiVersion, as it stands among the items of a list.
[[nodiscard]] std::string to_json(const Spec& spec, const Metadata& metadata);
// An item with them, as it stands alone and in watch events.
[[nodiscard]] std::string typed(Resource resource, std::string_view item);
// The object that a bookmark carries.
[[nodiscard]] std::string bookmark_json(Resource resource, std::uint64_t resource_version);

// "2026-01-02T03:04:05Z", cut to the second.
[[nodiscard]] std::string rfc3339(net::WallTime time);
// "Fri, 02 Jan 2026 03:04:05 GMT", as in a Date header.
[[nodiscard]] std::string http_date(net::WallTime time);

}  // namespace lastcall::fakes
