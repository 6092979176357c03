// What one EndpointSlice says about us. Source: discovery.k8s.io/v1, FACTS 1.1.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "k8s/padded_text.h"
#include "net/result.h"

namespace lastcall::k8s {

// How entries are recognised as ours: by the uid of a targetRef to a Pod; an entry without
// such a uid by its address, and with hostNetwork, where pods share it, by address and port
// (unless the slice or we name no port). A targetRef to anything else is not ours.
struct PodIdentity {
  std::string uid;
  std::string node_name;
  std::vector<std::string> addresses;
  bool host_network = false;
  std::vector<std::uint16_t> ports;  // container ports, for hostNetwork
};

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
