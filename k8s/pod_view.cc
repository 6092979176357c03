#include "k8s/pod_view.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "k8s/json_walk.h"
#include "k8s/our_annotations.h"
#include "k8s/time.h"

namespace lastcall::k8s {
namespace {

using Key = JsonWalk::Key;
using Value = JsonWalk::Value;

class PodReader {
 public:
  net::Result<PodView> read(const PaddedText& json) {
    const bool fits = walk_.document(json, [this](Key key, Value value) {
      return top_field(key, value);
    }) && is_pod();
    if (!fits) return walk_.error("Pod");
    if (view_.addresses.empty() && !pod_ip_.empty()) view_.addresses.emplace_back(pod_ip_);
    return std::move(view_);
  }

 private:
  bool top_field(Key key, Value value) {
    if (key == "kind") return walk_.string(value, "kind", kind_);
    if (key == "metadata") {
      return walk_.object(value, "metadata",
                          [this](Key k, Value v) { return metadata_field(k, v); });
    }
    if (key == "spec") {
      return walk_.object(value, "spec", [this](Key k, Value v) { return spec_field(k, v); });
    }
    if (key == "status") {
      return walk_.object(value, "status", [this](Key k, Value v) { return status_field(k, v); });
    }
    return true;
  }

  bool metadata_field(Key key, Value value) {
    if (key == "name") return walk_.text(value, "metadata.name", view_.name);
    if (key == "uid") return walk_.text(value, "metadata.uid", view_.uid);
    if (key == "labels") {
      return walk_.strings(value, "metadata.labels",
                           [this](std::string_view name, std::string_view label) {
                             view_.labels.insert_or_assign(std::string(name), label);
                           });
    }
    if (key == "annotations") return read_our_annotations(walk_, value, view_.annotations);
    if (key == "resourceVersion") {
      return walk_.text(value, "metadata.resourceVersion", view_.resource_version);
    }
    if (key == "deletionTimestamp") return deletion_timestamp(value);
    if (key == "deletionGracePeriodSeconds") {
      return seconds(value, "metadata.deletionGracePeriodSeconds", view_.deletion_grace_period);
    }
    return true;
  }

  bool deletion_timestamp(Value value) {
    std::string_view timestamp;
    if (!walk_.string(value, "metadata.deletionTimestamp", timestamp)) return false;
    if (timestamp.empty()) return true;
    view_.deletion_timestamp = parse_rfc3339(timestamp);
    return view_.deletion_timestamp || walk_.misfit("metadata.deletionTimestamp", "a time");
  }

  bool spec_field(Key key, Value value) {
    if (key == "nodeName") return walk_.text(value, "spec.nodeName", view_.node_name);
    if (key == "hostNetwork") return walk_.boolean(value, "spec.hostNetwork", view_.host_network);
    if (key == "terminationGracePeriodSeconds") {
      std::optional<std::chrono::seconds> grace_period;
      if (!seconds(value, "spec.terminationGracePeriodSeconds", grace_period)) return false;
      view_.grace_period = grace_period.value_or(view_.grace_period);
      return true;
    }
    // Native sidecars are init containers.
    if (key == "containers" || key == "initContainers") {
      return walk_.array(value, "spec.containers",
                         [this](Value entry) { return container(entry); });
    }
    return true;
  }

  bool container(Value container) {
    return walk_.object(container, "spec.containers[]", [this](Key key, Value value) {
      if (key == "lifecycle") {
        return walk_.object(value, "spec.containers[].lifecycle", [this](Key hook, Value) {
          if (hook == "preStop") ++view_.pre_stop_hooks;
          return true;
        });
      }
      if (key != "ports") return true;
      return walk_.array(value, "spec.containers[].ports",
                         [this](Value port) { return container_port(port); });
    });
  }

  bool container_port(Value port) {
    static constexpr const char* kField = "spec.containers[].ports[].containerPort";
    std::int64_t number = 0;
    const auto field = [&](Key key, Value value) {
      return key != "containerPort" || walk_.integer(value, kField, number);
    };
    if (!walk_.object(port, "spec.containers[].ports[]", field)) return false;
    if (number < 1 || number > std::numeric_limits<std::uint16_t>::max()) {
      return walk_.misfit(kField, "a port");
    }
    const auto value = static_cast<std::uint16_t>(number);
    if (std::find(view_.ports.begin(), view_.ports.end(), value) == view_.ports.end()) {
      view_.ports.push_back(value);
    }
    return true;
  }

  bool status_field(Key key, Value value) {
    if (key == "phase") return walk_.text(value, "status.phase", view_.phase);
    if (key == "reason") return walk_.text(value, "status.reason", view_.reason);
    if (key == "podIP") return walk_.string(value, "status.podIP", pod_ip_);
    if (key == "podIPs") {
      return walk_.array(value, "status.podIPs", [this](Value entry) { return pod_ip(entry); });
    }
    if (key == "conditions") {
      return walk_.array(value, "status.conditions",
                         [this](Value entry) { return condition(entry); });
    }
    return true;
  }

  bool pod_ip(Value entry) {
    std::string_view address;
    const auto field = [&](Key key, Value value) {
      return key != "ip" || walk_.string(value, "status.podIPs[].ip", address);
    };
    if (!walk_.object(entry, "status.podIPs[]", field)) return false;
    if (!address.empty()) view_.addresses.emplace_back(address);
    return true;
  }

  bool condition(Value entry) {
    std::string_view type;
    std::string_view status;
    const auto field = [&](Key key, Value value) {
      if (key == "type") return walk_.string(value, "status.conditions[].type", type);
      if (key == "status") return walk_.string(value, "status.conditions[].status", status);
      return true;
    };
    if (!walk_.object(entry, "status.conditions[]", field)) return false;
    view_.disruption_target |= type == "DisruptionTarget" && status == "True";
    return true;
  }

  bool is_pod() {
    if (!kind_.empty() && kind_ != "Pod") return walk_.misfit("kind", "Pod");
    return !view_.name.empty() || walk_.misfit("metadata.name", "there");
  }

  bool seconds(Value value, const char* field, std::optional<std::chrono::seconds>& out) {
    std::int64_t count = -1;
    if (!walk_.integer(value, field, count)) return false;
    if (count < 0) return true;
    out = std::min<std::chrono::seconds>(std::chrono::seconds(count), PodView::kGracePeriodMax);
    return true;
  }

  simdjson::ondemand::parser parser_;
  JsonWalk walk_{parser_};
  PodView view_;
  std::string_view kind_;
  std::string_view pod_ip_;
};

}  // namespace

PodIdentity identity_of(const PodView& pod) {
  return {pod.uid, pod.node_name, pod.addresses, pod.host_network, pod.ports};
}

net::Result<PodView> parse_pod(const PaddedText& json) { return PodReader().read(json); }

}  // namespace lastcall::k8s
