#include "k8s/endpoints_view.h"

#include <utility>

#include "k8s/json_walk.h"
#include "k8s/ownership.h"

namespace lastcall::k8s {
namespace {

using Key = JsonWalk::Key;
using Value = JsonWalk::Value;

// Who stands in one of a subset's two lists.
struct Entries {
  bool ours = false;
  bool others = false;
  bool undecided = false;  // ours or others', the subset's ports will tell
};

struct Subset {
  Entries ready;
  Entries not_ready;
  bool has_ports = false;
  bool has_our_port = false;
};

class EndpointsReader {
 public:
  explicit EndpointsReader(const PodIdentity& identity) : identity_(identity) {}

  net::Result<EndpointsView> read(const PaddedText& json) {
    const bool fits = walk_.document(json, [this](Key key, Value value) {
      return top_field(key, value);
    }) && is_endpoints();
    if (!fits) return walk_.error("Endpoints");
    return std::move(view_);
  }

 private:
  bool top_field(Key key, Value value) {
    if (key == "subsets") {
      return walk_.array(value, "subsets", [this](Value entry) { return subset(entry); });
    }
    if (key == "metadata") {
      return walk_.object(value, "metadata",
                          [this](Key k, Value v) { return metadata_field(k, v); });
    }
    if (key == "kind") return walk_.string(value, "kind", kind_);
    return true;
  }

  bool metadata_field(Key key, Value value) {
    if (key == "name") return walk_.text(value, "metadata.name", view_.name);
    if (key == "annotations") {
      return walk_.object(value, "metadata.annotations",
                          [this](Key k, Value v) { return annotation(k, v); });
    }
    return true;
  }

  // Its other value, "warning", is from before 1.22, when nothing was left out yet.
  bool annotation(Key key, Value value) {
    if (key != "endpoints.kubernetes.io/over-capacity") return true;
    std::string_view capacity;
    if (!walk_.string(value, "metadata.annotations", capacity)) return false;
    view_.truncated = capacity == "truncated";
    return true;
  }

  bool subset(Value value) {
    Subset subset;
    const auto field = [&](Key k, Value v) { return subset_field(k, v, subset); };
    if (!walk_.object(value, "subsets[]", field)) return false;
    const bool port_is_ours = subset.has_our_port || !subset.has_ports || identity_.ports.empty();
    for (Entries* entries : {&subset.ready, &subset.not_ready}) {
      if (entries->undecided) (port_is_ours ? entries->ours : entries->others) = true;
    }
    view_.own_ready |= subset.ready.ours;
    view_.own_not_ready |= subset.not_ready.ours;
    view_.others_ready |= subset.ready.others;
    return true;
  }

  bool subset_field(Key key, Value value, Subset& subset) {
    if (key == "addresses") {
      return walk_.array(value, "subsets[].addresses",
                         [&](Value entry) { return address(entry, subset.ready); });
    }
    if (key == "notReadyAddresses") {
      return walk_.array(value, "subsets[].notReadyAddresses",
                         [&](Value entry) { return address(entry, subset.not_ready); });
    }
    if (key == "ports") {
      return walk_.array(value, "subsets[].ports",
                         [&](Value entry) { return port(entry, subset); });
    }
    return true;
  }

  bool address(Value value, Entries& entries) {
    EntryTarget target;
    const auto field = [&](Key k, Value v) { return address_field(k, v, target); };
    if (!walk_.object(value, "subsets[].addresses[]", field)) return false;
    const Owner owner = owner_of(target, identity_);
    entries.ours |= owner == Owner::kUs;
    entries.others |= owner == Owner::kOthers;
    entries.undecided |= owner == Owner::kWhoeverHasThePort;
    return true;
  }

  bool address_field(Key key, Value value, EntryTarget& target) {
    if (key == "ip") {
      std::string_view address;
      if (!walk_.string(value, "subsets[].addresses[].ip", address)) return false;
      target.has_our_address = is_our_address(address, identity_);
      return true;
    }
    if (key == "targetRef") {
      return walk_.object(value, "subsets[].addresses[].targetRef",
                          [&](Key k, Value v) { return target_field(k, v, target); });
    }
    return true;
  }

  bool target_field(Key key, Value value, EntryTarget& target) {
    static constexpr const char* kField = "subsets[].addresses[].targetRef";
    if (key == "uid") return walk_.string(value, kField, target.uid);
    if (key == "kind") return walk_.string(value, kField, target.kind);
    return true;
  }

  bool port(Value value, Subset& subset) {
    std::int64_t number = 0;
    const auto field = [&](Key k, Value v) {
      return k != "port" || walk_.integer(v, "subsets[].ports[].port", number);
    };
    if (!walk_.object(value, "subsets[].ports[]", field)) return false;
    subset.has_ports = true;
    subset.has_our_port |= is_our_port(number, identity_);
    return true;
  }

  bool is_endpoints() {
    if (!kind_.empty() && kind_ != "Endpoints") return walk_.misfit("kind", "Endpoints");
    return !view_.name.empty() || walk_.misfit("metadata.name", "there");
  }

  const PodIdentity& identity_;
  simdjson::ondemand::parser parser_;
  JsonWalk walk_{parser_};
  EndpointsView view_;
  std::string_view kind_;
};

}  // namespace

net::Result<EndpointsView> parse_endpoints(const PaddedText& json, const PodIdentity& identity) {
  return EndpointsReader(identity).read(json);
}

}  // namespace lastcall::k8s
