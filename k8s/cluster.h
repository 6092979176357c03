// Where the API server is and how to be believed there.
#pragma once

#include <string>
#include <string_view>

#include "net/result.h"

namespace lastcall::k8s {

struct Cluster {
  std::string server;      // "https://10.96.0.1:443", without a trailing slash
  std::string token_file;  // empty: no Authorization header
  std::string ca_file;     // used with https only
};

// The address Kubernetes gives every pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT,
// IPv6 literals bracketed. kFatal when either is empty: not in a pod, say how to name a server.
[[nodiscard]] net::Result<std::string> in_cluster_server(std::string_view host,
                                                         std::string_view port);

}  // namespace lastcall::k8s
