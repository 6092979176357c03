#include "tests/fakes/kube_objects.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace lastcall::fakes {
namespace {

using Json = nlohmann::ordered_json;

struct Names {
  std::string_view plural;
  std::string_view kind;
  std::string_view api_version;
  std::string_view empty_rest;  // what Go prints of an object that is all zero
};

constexpr std::array<Names, kResources.size()> kNames{{
    {"pods", "Pod", "v1", R"(,"spec":{"containers":null},"status":{})"},
    {"services", "Service", "v1", R"(,"spec":{},"status":{"loadBalancer":{}})"},
    {"endpointslices", "EndpointSlice", "discovery.k8s.io/v1",
     R"(,"addressType":"","endpoints":null,"ports":null)"},
    {"endpoints", "Endpoints", "v1", ""},
    {"nodes", "Node", "v1",
     R"(,"spec":{},"status":{"daemonEndpoints":{"kubeletEndpoint":{"Port":0}},"nodeInfo":{)"
     R"("machineID":"","systemUUID":"","bootID":"","kernelVersion":"","osImage":"",)"
     R"("containerRuntimeVersion":"","kubeletVersion":"","kubeProxyVersion":"",)"
     R"("operatingSystem":"","architecture":""}})"},
}};

const Names& names(Resource resource) { return kNames.at(static_cast<std::size_t>(resource)); }

Json start(const Spec& spec, const Metadata& metadata) {
  Json json;
  json["name"] = name_of(spec);
  if (!metadata.namespace_name.empty()) json["namespace"] = metadata.namespace_name;
  json["uid"] = metadata.uid;
  json["resourceVersion"] = std::to_string(metadata.resource_version);
  json["creationTimestamp"] = rfc3339(metadata.created);
  return json;
}

void add_labels(Json& metadata, const char* key, const Labels& labels) {
  if (labels.empty()) return;
  for (const auto& [name, value] : labels) metadata[key][name] = value;
}

void add_manager(Json& metadata, const char* manager) {
  metadata["managedFields"] =
      Json::array({{{"manager", manager},
                    {"operation", "Update"},
                    {"apiVersion", "v1"},
                    {"time", metadata["creationTimestamp"]},
                    {"fieldsType", "FieldsV1"},
                    {"fieldsV1", {{"f:metadata", {{".", Json::object()}}}}}}});
}

Json condition(const char* type, bool status, const Metadata& metadata) {
  return {{"type", type},
          {"status", status ? "True" : "False"},
          {"lastProbeTime", nullptr},
          {"lastTransitionTime", rfc3339(metadata.created)}};
}

// On the host's network the API server makes every container port a port of the host.
Json container_port(const std::string& name, std::uint16_t port, bool host_network) {
  Json json;
  if (!name.empty()) json["name"] = name;
  if (host_network) json["hostPort"] = port;
  json["containerPort"] = port;
  json["protocol"] = "TCP";
  return json;
}

Json containers(const Pod& pod) {
  Json container = {{"name", "app"}, {"image", "registry.example/app:1"}};
  for (const auto port : pod.ports) {
    container["ports"].push_back(container_port("", port, pod.host_network));
  }
  for (const auto& [name, port] : pod.named_ports) {
    container["ports"].push_back(container_port(name, port, pod.host_network));
  }
  container["resources"] = Json::object();
  container["lifecycle"] = {{"preStop", {{"httpGet", {{"path", "/hold"}, {"port", 19100}}}}}};
  return Json::array({container});
}

Json status(const Pod& pod, const Metadata& metadata) {
  Json json = {{"phase", pod.phase}};
  json["conditions"] = Json::array({condition("Ready", pod.ready, metadata)});
  if (pod.disruption_target) {
    json["conditions"].push_back(condition("DisruptionTarget", true, metadata));
  }
  if (!pod.reason.empty()) json["reason"] = pod.reason;
  json["hostIP"] = pod.host_network && !pod.ips.empty() ? pod.ips.front() : "10.0.0.1";
  if (!pod.ips.empty()) json["podIP"] = pod.ips.front();
  for (const auto& ip : pod.ips) json["podIPs"].push_back({{"ip", ip}});
  return json;
}

Json render(const Pod& pod, Json metadata, const Metadata& known) {
  if (pod.deletion_timestamp) metadata["deletionTimestamp"] = rfc3339(*pod.deletion_timestamp);
  if (pod.deletion_grace) metadata["deletionGracePeriodSeconds"] = pod.deletion_grace->count();
  add_labels(metadata, "labels", pod.labels);
  add_labels(metadata, "annotations", pod.annotations);
  add_manager(metadata, "kubelet");
  Json spec = {{"containers", containers(pod)},
               {"restartPolicy", "Always"},
               {"terminationGracePeriodSeconds", pod.grace.count()}};
  if (!pod.node.empty()) spec["nodeName"] = pod.node;
  if (pod.host_network) spec["hostNetwork"] = true;
  return {{"metadata", std::move(metadata)}, {"spec", spec}, {"status", status(pod, known)}};
}

Json render(const ServicePort& port) {
  Json json;
  if (!port.name.empty()) json["name"] = port.name;
  json["protocol"] = "TCP";
  json["port"] = port.port;
  if (port.target_name.empty()) {
    json["targetPort"] = port.target;
  } else {
    json["targetPort"] = port.target_name;
  }
  return json;
}

Json render(const Service& service, Json metadata, const Metadata&) {
  add_labels(metadata, "annotations", service.annotations);
  add_manager(metadata, "kubectl");
  Json spec = Json::object();
  for (const auto& port : service.ports) spec["ports"].push_back(render(port));
  add_labels(spec, "selector", service.selector);
  spec["clusterIP"] = service.headless ? "None" : "10.96.0.10";
  spec["type"] = service.local_only ? "LoadBalancer" : "ClusterIP";
  if (service.local_only) spec["externalTrafficPolicy"] = "Local";
  spec["internalTrafficPolicy"] = "Cluster";
  if (service.publish_not_ready) spec["publishNotReadyAddresses"] = true;
  return {{"metadata", std::move(metadata)},
          {"spec", spec},
          {"status", {{"loadBalancer", Json::object()}}}};
}

Json target_ref(const std::string& pod, const std::string& uid, const std::string& namespace_name) {
  return {{"kind", "Pod"}, {"namespace", namespace_name}, {"name", pod}, {"uid", uid}};
}

Json render(const Endpoint& endpoint, const std::string& namespace_name) {
  Json json = {{"addresses", Json::array({endpoint.address})},
               {"conditions",
                {{"ready", endpoint.ready},
                 {"serving", endpoint.serving},
                 {"terminating", endpoint.terminating}}}};
  if (!endpoint.uid.empty()) {
    json["targetRef"] = target_ref(endpoint.pod, endpoint.uid, namespace_name);
  }
  if (!endpoint.node.empty()) json["nodeName"] = endpoint.node;
  return json;
}

// Only controllers make their slices somebody's.
void add_owner(Json& metadata, const Slice& slice) {
  const bool is_mirror = slice.managed_by == "endpointslicemirroring-controller.k8s.io";
  if (!is_mirror && slice.managed_by != kSliceController) return;
  metadata["ownerReferences"] = Json::array({{{"apiVersion", "v1"},
                                              {"kind", is_mirror ? "Endpoints" : "Service"},
                                              {"name", slice.service},
                                              {"controller", true},
                                              {"blockOwnerDeletion", true}}});
}

// Go prints a list without elements, once it has been stored, as null.
Json ports_of(const Slice& slice) {
  Json ports;
  for (const auto& [name, port] : slice.ports) {
    ports.push_back({{"name", name}, {"protocol", "TCP"}, {"port", port}});
  }
  return ports;
}

Json render(const Slice& slice, Json metadata, const Metadata& known) {
  metadata["generation"] = known.resource_version;
  add_labels(metadata, "labels", labels_of(slice));
  add_owner(metadata, slice);
  add_manager(metadata, "kube-controller-manager");
  Json endpoints = Json::array();
  for (const auto& endpoint : slice.endpoints) {
    endpoints.push_back(render(endpoint, known.namespace_name));
  }
  return {{"metadata", std::move(metadata)},
          {"addressType", slice.ipv6 ? "IPv6" : "IPv4"},
          {"endpoints", std::move(endpoints)},
          {"ports", ports_of(slice)}};
}

Json render(const SubsetAddress& address, const std::string& namespace_name) {
  Json json = {{"ip", address.ip}};
  if (!address.node.empty()) json["nodeName"] = address.node;
  if (!address.uid.empty()) {
    json["targetRef"] = target_ref(address.pod, address.uid, namespace_name);
  }
  return json;
}

// Lists without elements are left out.
Json render(const Subset& subset, const std::string& namespace_name) {
  Json json = Json::object();
  for (const auto& address : subset.ready) {
    json["addresses"].push_back(render(address, namespace_name));
  }
  for (const auto& address : subset.not_ready) {
    json["notReadyAddresses"].push_back(render(address, namespace_name));
  }
  for (const auto& [name, number] : subset.ports) {
    Json port;
    if (!name.empty()) port["name"] = name;
    port["port"] = number;
    port["protocol"] = "TCP";
    json["ports"].push_back(std::move(port));
  }
  return json;
}

Json render(const Endpoints& endpoints, Json metadata, const Metadata& known) {
  add_labels(metadata, "labels", endpoints.labels);
  if (endpoints.truncated) {
    metadata["annotations"]["endpoints.kubernetes.io/over-capacity"] = "truncated";
  }
  add_manager(metadata, "kube-controller-manager");
  Json json = {{"metadata", std::move(metadata)}};
  for (const auto& subset : endpoints.subsets) {
    json["subsets"].push_back(render(subset, known.namespace_name));
  }
  return json;
}

struct NodeCondition {
  const char* type;
  std::string status;
  std::string reason;
  std::string message;
};

Json render(const NodeCondition& condition, const Metadata& known) {
  return {{"type", condition.type},
          {"status", condition.status},
          {"lastHeartbeatTime", rfc3339(known.created)},
          {"lastTransitionTime", rfc3339(known.created)},
          {"reason", condition.reason},
          {"message", condition.message}};
}

// What a kubelet says of a pressure that is there and of one that is not
// (pkg/kubelet/nodestatus/setters.go).
struct PressureWords {
  const char* type;
  const char* reason;
  const char* message;
  const char* reason_without;
  const char* message_without;
};

constexpr std::array<PressureWords, 3> kPressures{{
    {"MemoryPressure", "KubeletHasInsufficientMemory", "kubelet has insufficient memory available",
     "KubeletHasSufficientMemory", "kubelet has sufficient memory available"},
    {"DiskPressure", "KubeletHasDiskPressure", "kubelet has disk pressure",
     "KubeletHasNoDiskPressure", "kubelet has no disk pressure"},
    {"PIDPressure", "KubeletHasInsufficientPID", "kubelet has insufficient PID available",
     "KubeletHasSufficientPID", "kubelet has sufficient PID available"},
}};

std::vector<NodeCondition> conditions_of(const Node& node) {
  std::vector<NodeCondition> conditions;
  const auto& there = node.pressures;
  for (const auto& words : kPressures) {
    const bool is_there = std::find(there.begin(), there.end(), words.type) != there.end();
    conditions.push_back({words.type, is_there ? "True" : "False",
                          is_there ? words.reason : words.reason_without,
                          is_there ? words.message : words.message_without});
  }
  const char* reason = node.ready_status == "True"      ? "KubeletReady"
                       : node.ready_status == "Unknown" ? "NodeStatusUnknown"
                                                        : "KubeletNotReady";
  conditions.push_back({"Ready", node.ready_status, reason, node.ready_message});
  return conditions;
}

Json render(const Node& node, Json metadata, const Metadata& known) {
  add_labels(metadata, "labels", labels_of(node));
  add_manager(metadata, "kubelet");
  Json status = {{"capacity", {{"cpu", "2"}, {"memory", "4Gi"}, {"pods", "110"}}}};
  for (const auto& condition : conditions_of(node)) {
    status["conditions"].push_back(render(condition, known));
  }
  status["addresses"] = Json::array({{{"type", "Hostname"}, {"address", node.name}}});
  status["daemonEndpoints"] = {{"kubeletEndpoint", {{"Port", 10250}}}};
  status["nodeInfo"] = {{"kubeletVersion", "v1.36.0"}, {"operatingSystem", "linux"}};
  return {{"metadata", std::move(metadata)},
          {"spec", {{"podCIDR", "10.1.0.0/24"}}},
          {"status", std::move(status)}};
}

std::chrono::sys_seconds in_seconds(net::WallTime time) {
  return std::chrono::floor<std::chrono::seconds>(time);
}

struct Calendar {
  std::chrono::year_month_day date;
  std::chrono::hh_mm_ss<std::chrono::seconds> time;
  unsigned weekday;
};

Calendar calendar(net::WallTime wall) {
  const auto whole = in_seconds(wall);
  const auto day = std::chrono::floor<std::chrono::days>(whole);
  return {std::chrono::year_month_day(day), std::chrono::hh_mm_ss(whole - day),
          std::chrono::weekday(day).c_encoding()};
}

}  // namespace

Resource resource_of(const Spec& spec) { return static_cast<Resource>(spec.index()); }

const std::string& name_of(const Spec& spec) {
  return std::visit([](const auto& object) -> const std::string& { return object.name; }, spec);
}

Labels labels_of(const Spec& spec) {
  if (const auto* pod = std::get_if<Pod>(&spec)) return pod->labels;
  if (const auto* endpoints = std::get_if<Endpoints>(&spec)) return endpoints->labels;
  if (const auto* node = std::get_if<Node>(&spec)) return {{"kubernetes.io/hostname", node->name}};
  const auto* slice = std::get_if<Slice>(&spec);
  if (slice == nullptr) return {};
  Labels labels;
  if (!slice->managed_by.empty()) {
    labels["endpointslice.kubernetes.io/managed-by"] = slice->managed_by;
  }
  if (!slice->service.empty()) labels["kubernetes.io/service-name"] = slice->service;
  return labels;
}

std::string_view plural(Resource resource) { return names(resource).plural; }
std::string_view kind(Resource resource) { return names(resource).kind; }
std::string_view api_version(Resource resource) { return names(resource).api_version; }

std::string to_json(const Spec& spec, const Metadata& metadata) {
  return std::visit(
      [&](const auto& object) { return render(object, start(spec, metadata), metadata).dump(); },
      spec);
}

std::string typed(Resource resource, std::string_view item) {
  std::string json = R"({"kind":")";
  json.append(kind(resource)).append(R"(","apiVersion":")").append(api_version(resource));
  return json.append(R"(",)").append(item.substr(1));
}

std::string bookmark_json(Resource resource, std::uint64_t resource_version) {
  std::string item = R"({"metadata":{"resourceVersion":")" + std::to_string(resource_version) +
                     R"(","creationTimestamp":null})";
  return typed(resource, item.append(names(resource).empty_rest).append("}"));
}

std::string rfc3339(net::WallTime time) {
  const auto at = calendar(time);
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02ld:%02ld:%02ldZ",
                static_cast<int>(at.date.year()), static_cast<unsigned>(at.date.month()),
                static_cast<unsigned>(at.date.day()), static_cast<long>(at.time.hours().count()),
                static_cast<long>(at.time.minutes().count()),
                static_cast<long>(at.time.seconds().count()));
  return text.data();
}

std::string http_date(net::WallTime time) {
  static constexpr std::array<const char*, 7> kDays{"Sun", "Mon", "Tue", "Wed",
                                                    "Thu", "Fri", "Sat"};
  static constexpr std::array<const char*, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                       "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto at = calendar(time);
  std::array<char, 64> text{};
  std::snprintf(
      text.data(), text.size(), "%s, %02u %s %04d %02ld:%02ld:%02ld GMT", kDays.at(at.weekday),
      static_cast<unsigned>(at.date.day()), kMonths.at(static_cast<unsigned>(at.date.month()) - 1),
      static_cast<int>(at.date.year()), static_cast<long>(at.time.hours().count()),
      static_cast<long>(at.time.minutes().count()), static_cast<long>(at.time.seconds().count()));
  return text.data();
}

}  // namespace lastcall::fakes
