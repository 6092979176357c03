// What one EndpointSlice says about us. Source: discovery.k8s.io/v1, FACTS 1.1.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "k8s/padded_text.h"
#include "k8s/pod_identity.h"
#include "net/result.h"

namespace lastcall::k8s {

// One of our entries. An absent condition means ready, serving and not terminating.
struct OwnEndpoint {
  bool ready = true;
  bool serving = true;
  bool terminating = false;

  friend bool operator==(const OwnEndpoint&, const OwnEndpoint&) = default;
};

enum class AddressType { kIpv4, kIpv6, kFqdn };

struct SliceView {
  std::string name;
  std::string service;     // label kubernetes.io/service-name; empty when there is none
  std::string managed_by;  // label endpointslice.kubernetes.io/managed-by
  AddressType address_type = AddressType::kIpv4;
  std::vector<std::string> port_names;     // "" for an unnamed port
  std::vector<OwnEndpoint> own;            // usually none or one
  std::uint32_t ready_others = 0;          // entries of other pods with ready=true
  std::uint32_t ready_others_on_node = 0;  // those of them with our nodeName
};

// Reads slices in one pass each without allocating per endpoint. Keeps the parser's memory
// (about eight times the largest slice, most of it never touched) from one to the next.
class SliceParser {
 public:
  SliceParser();
  ~SliceParser();
  SliceParser(SliceParser&&) noexcept;
  SliceParser& operator=(SliceParser&&) noexcept;

  // kInvalid: not JSON, not an EndpointSlice, or a field of the wrong type, with the field
  // named. "kind" may be absent: items of a list have none.
  [[nodiscard]] net::Result<SliceView> parse(const PaddedText& json, const PodIdentity& identity);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// SliceParser::parse() with a parser of its own, for a single slice.
[[nodiscard]] net::Result<SliceView> parse_slice(const PaddedText& json,
                                                 const PodIdentity& identity);

}  // namespace lastcall::k8s
