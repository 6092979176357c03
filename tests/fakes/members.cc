#include "tests/fakes/members.h"

#include <algorithm>

namespace lastcall::fakes {

bool selects(const Service& service, const Labels& labels) {
  return !service.selector.empty() &&
         std::all_of(service.selector.begin(), service.selector.end(), [&](const auto& wanted) {
           const auto it = labels.find(wanted.first);
           return it != labels.end() && it->second == wanted.second;
         });
}

bool has_ended(const Pod& pod) { return pod.phase == "Failed" || pod.phase == "Succeeded"; }

std::optional<EndpointPort> resolve(const ServicePort& port, const Pod& pod) {
  if (port.target_name.empty()) return EndpointPort{port.name, port.target};
  const auto it = pod.named_ports.find(port.target_name);
  if (it == pod.named_ports.end()) return std::nullopt;
  return EndpointPort{port.name, it->second};
}

std::vector<EndpointPort> ports_of(const Service& service, const Pod& pod) {
  std::vector<EndpointPort> ports;
  for (const auto& port : service.ports) {
    if (const auto resolved = resolve(port, pod)) ports.push_back(*resolved);
  }
  return ports;
}

bool is_ipv6(const std::string& address) { return address.find(':') != std::string::npos; }

}  // namespace lastcall::fakes
