// What a Node says about why its kubelet may be stopping us without a deletionTimestamp.
// Source: core/v1; kubelet nodestatus/setters.go and nodeshutdown/ (1.36).
#pragma once

#include <string>

#include "k8s/padded_text.h"
#include "net/result.h"

namespace lastcall::k8s {

struct NodeView {
  std::string name;
  // The condition Ready is not True, and its message says "node is shutting down". The kubelet
  // writes it at once when the shutdown begins, perhaps among other messages.
  bool shutting_down = false;
  // MemoryPressure, DiskPressure or PIDPressure is True: the kubelet evicts. It may lag an
  // eviction by 10 s, and a pod over its own storage limits is evicted without it.
  bool under_pressure = false;
  // The conditions that made either true: "Ready (node is shutting down), DiskPressure".
  std::string why;
};

// kInvalid: not JSON, not a Node, or a field of the wrong type, with the field named. "kind"
// may be absent.
[[nodiscard]] net::Result<NodeView> parse_node(const PaddedText& json);

}  // namespace lastcall::k8s
