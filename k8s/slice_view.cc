#include "k8s/slice_view.h"

#include <utility>

#include "k8s/json_walk.h"
#include "k8s/ownership.h"

namespace lastcall::k8s {
namespace {

using Key = JsonWalk::Key;
using Value = JsonWalk::Value;

struct Endpoint {
  OwnEndpoint conditions;
  std::string_view node_name;
  EntryTarget target;
};

// Reads one slice. Ports follow the endpoints in the text, so entries that only a port can
// tell apart wait for the end.
class SliceReader {
 public:
  SliceReader(simdjson::ondemand::parser& parser, const PodIdentity& identity)
      : walk_(parser), identity_(identity) {}

  net::Result<SliceView> read(const PaddedText& json) {
    const bool fits =
        walk_.document(json, [this](Key key, Value value) { return top_field(key, value); }) &&
        is_slice() && read_address_type();
    if (!fits) return walk_.error("EndpointSlice");
    settle_undecided();
    return std::move(view_);
  }

 private:
  bool top_field(Key key, Value value) {
    if (key == "endpoints") {
      return walk_.array(value, "endpoints", [this](Value entry) { return endpoint(entry); });
    }
    if (key == "metadata") {
      return walk_.object(value, "metadata",
                          [this](Key k, Value v) { return metadata_field(k, v); });
    }
    if (key == "ports") {
      return walk_.array(value, "ports", [this](Value entry) { return port(entry); });
    }
    if (key == "addressType") return walk_.string(value, "addressType", address_type_);
    if (key == "kind") return walk_.string(value, "kind", kind_);
    return true;
  }

  bool metadata_field(Key key, Value value) {
    if (key == "name") return walk_.text(value, "metadata.name", view_.name);
    if (key == "labels") {
      return walk_.object(value, "metadata.labels", [this](Key k, Value v) { return label(k, v); });
    }
    return true;
  }

  bool label(Key key, Value value) {
    if (key == "kubernetes.io/service-name") {
      return walk_.text(value, "metadata.labels", view_.service);
    }
    if (key == "endpointslice.kubernetes.io/managed-by") {
      return walk_.text(value, "metadata.labels", view_.managed_by);
    }
    return true;
  }

  bool port(Value value) {
    std::string_view name;
    std::int64_t number = 0;
    const auto field = [&](Key k, Value v) {
      if (k == "name") return walk_.string(v, "ports[].name", name);
      if (k == "port") return walk_.integer(v, "ports[].port", number);
      return true;
    };
    if (!walk_.object(value, "ports[]", field)) return false;
    view_.port_names.emplace_back(name);
    has_our_port_ |= is_our_port(number, identity_);
    return true;
  }

  bool endpoint(Value value) {
    Endpoint entry;
    const auto field = [&](Key k, Value v) { return endpoint_field(k, v, entry); };
    if (!walk_.object(value, "endpoints[]", field)) return false;
    switch (owner_of(entry.target, identity_)) {
      case Owner::kUs:
        view_.own.push_back(entry.conditions);
        break;
      case Owner::kOthers:
        count_other(entry.conditions, entry.node_name == identity_.node_name);
        break;
      case Owner::kWhoeverHasThePort:
        undecided_.push_back(entry.conditions);
        break;
    }
    return true;
  }

  bool endpoint_field(Key key, Value value, Endpoint& entry) {
    if (key == "addresses") {
      return walk_.array(value, "endpoints[].addresses",
                         [&](Value address) { return read_address(address, entry.target); });
    }
    if (key == "conditions") {
      return walk_.object(value, "endpoints[].conditions",
                          [&](Key k, Value v) { return condition(k, v, entry.conditions); });
    }
    if (key == "nodeName") return walk_.string(value, "endpoints[].nodeName", entry.node_name);
    if (key == "targetRef") {
      return walk_.object(value, "endpoints[].targetRef",
                          [&](Key k, Value v) { return target_field(k, v, entry.target); });
    }
    return true;
  }

  bool read_address(Value value, EntryTarget& target) {
    std::string_view address;
    if (!walk_.string(value, "endpoints[].addresses[]", address)) return false;
    target.has_our_address |= is_our_address(address, identity_);
    return true;
  }

  bool condition(Key key, Value value, OwnEndpoint& conditions) {
    if (key == "ready") {
      return walk_.boolean(value, "endpoints[].conditions.ready", conditions.ready);
    }
    if (key == "serving") {
      return walk_.boolean(value, "endpoints[].conditions.serving", conditions.serving);
    }
    if (key == "terminating") {
      return walk_.boolean(value, "endpoints[].conditions.terminating", conditions.terminating);
    }
    return true;
  }

  bool target_field(Key key, Value value, EntryTarget& target) {
    if (key == "uid") return walk_.string(value, "endpoints[].targetRef.uid", target.uid);
    if (key == "kind") return walk_.string(value, "endpoints[].targetRef.kind", target.kind);
    return true;
  }

  void count_other(const OwnEndpoint& conditions, bool on_our_node) {
    if (!conditions.ready) return;
    ++view_.ready_others;
    if (on_our_node && !identity_.node_name.empty()) ++view_.ready_others_on_node;
  }

  void settle_undecided() {
    const bool ours = has_our_port_ || view_.port_names.empty() || identity_.ports.empty();
    for (const OwnEndpoint& conditions : undecided_) {
      if (ours) {
        view_.own.push_back(conditions);
      } else {
        // Who shares our address is on our node.
        count_other(conditions, true);
      }
    }
  }

  bool is_slice() {
    if (!kind_.empty() && kind_ != "EndpointSlice") return walk_.misfit("kind", "EndpointSlice");
    return !view_.name.empty() || walk_.misfit("metadata.name", "there");
  }

  bool read_address_type() {
    if (address_type_ == "IPv4") {
      view_.address_type = AddressType::kIpv4;
    } else if (address_type_ == "IPv6") {
      view_.address_type = AddressType::kIpv6;
    } else if (address_type_ == "FQDN") {
      view_.address_type = AddressType::kFqdn;
    } else {
      return walk_.misfit("addressType", "IPv4, IPv6 or FQDN");
    }
    return true;
  }

  JsonWalk walk_;
  const PodIdentity& identity_;
  SliceView view_;
  std::string_view kind_;
  std::string_view address_type_;
  bool has_our_port_ = false;
  std::vector<OwnEndpoint> undecided_;
};

}  // namespace

class SliceParser::Impl {
 public:
  simdjson::ondemand::parser parser;
};

SliceParser::SliceParser() : impl_(std::make_unique<Impl>()) {}
SliceParser::~SliceParser() = default;
SliceParser::SliceParser(SliceParser&&) noexcept = default;
SliceParser& SliceParser::operator=(SliceParser&&) noexcept = default;

net::Result<SliceView> SliceParser::parse(const PaddedText& json, const PodIdentity& identity) {
  return SliceReader(impl_->parser, identity).read(json);
}

net::Result<SliceView> parse_slice(const PaddedText& json, const PodIdentity& identity) {
  return SliceParser().parse(json, identity);
}

}  // namespace lastcall::k8s
