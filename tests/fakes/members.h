// Which pods stand behind a Service, and at which ports. Shared by the controllers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tests/fakes/kube_objects.h"

namespace lastcall::fakes {

// Whether the Service has a selector and all its labels are there.
[[nodiscard]] bool selects(const Service& service, const Labels& labels);

// Whether the pod's containers have ended, so that it has no endpoints any more.
[[nodiscard]] bool has_ended(const Pod& pod);

// The port where `pod` serves `port`; nullopt: it has none of the name that is asked for.
[[nodiscard]] std::optional<EndpointPort> resolve(const ServicePort& port, const Pod& pod);

// All of them that can be resolved, in the order of the Service.
[[nodiscard]] std::vector<EndpointPort> ports_of(const Service& service, const Pod& pod);

[[nodiscard]] bool is_ipv6(const std::string& address);

}  // namespace lastcall::fakes
