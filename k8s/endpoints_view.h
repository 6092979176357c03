// What a Service's legacy Endpoints object says about us. Source: core/v1, FACTS 1.1.
#pragma once

#include <string>

#include "k8s/padded_text.h"
#include "k8s/pod_identity.h"
#include "net/result.h"

namespace lastcall::k8s {

struct EndpointsView {
  std::string name;            // the Service's
  bool truncated = false;      // over 1000 addresses, the rest left out: absence proves nothing
  bool own_ready = false;      // in `addresses` of some subset
  bool own_not_ready = false;  // in `notReadyAddresses` of some subset
  bool others_ready = false;   // somebody else is in `addresses` of some subset
};

// kInvalid: not JSON, not Endpoints, or a field of the wrong type, with the field named.
// "kind" may be absent: items of a list have none.
[[nodiscard]] net::Result<EndpointsView> parse_endpoints(const PaddedText& json,
                                                         const PodIdentity& identity);

}  // namespace lastcall::k8s
