// Who we are among the entries of a Service.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lastcall::k8s {

// How entries are recognised as ours: by the uid of a targetRef to a Pod; an entry without
// such a uid by its address, and with hostNetwork, where pods share it, by address and port
// (unless the object or we name no port). A targetRef to anything else is not ours.
struct PodIdentity {
  std::string uid;
  std::string node_name;
  std::vector<std::string> addresses;
  bool host_network = false;
  std::vector<std::uint16_t> ports;  // container ports, for hostNetwork
};

}  // namespace lastcall::k8s
