#include "k8s/cluster.h"

namespace lastcall::k8s {

net::Result<std::string> in_cluster_server(std::string_view host, std::string_view port) {
  if (host.empty() || port.empty()) {
    return net::Error{
        net::ErrorCode::kFatal,
        "not in a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not both set; "
        "name the API server in the configuration",
        std::nullopt};
  }
  const bool needs_brackets = host.find(':') != std::string_view::npos && host.front() != '[';
  std::string server = "https://";
  if (needs_brackets) server += '[';
  server += host;
  if (needs_brackets) server += ']';
  server += ':';
  server += port;
  return server;
}

}  // namespace lastcall::k8s
