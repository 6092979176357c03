// Which endpoints a data plane may choose from. Source: kube-proxy (FACTS 1.1, KEP-1669).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "k8s/padded_text.h"
#include "net/result.h"

namespace lastcall::demo {

struct RoutedEndpoint {
  std::string address;
  bool ready = true;
  bool serving = true;
  bool terminating = false;
};

struct RoutedSlice {
  std::string name;
  std::vector<RoutedEndpoint> endpoints;
};

// Reads every endpoint of an EndpointSlice. kInvalid: not one.
[[nodiscard]] net::Result<RoutedSlice> parse_routed_slice(const k8s::PaddedText& json);

// By the slice's name.
using Slices = std::map<std::string, std::vector<RoutedEndpoint>>;

// The addresses of the ready endpoints, or, when there is none, of those that serve while they
// terminate; sorted.
[[nodiscard]] std::vector<std::string> routable(const Slices& slices);

}  // namespace lastcall::demo
