#include "tests/fakes/endpoints_controller.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "tests/fakes/members.h"

namespace lastcall::fakes {
namespace {

// Who serves at a port, and whether it is ready there.
using Servers = std::map<SubsetAddress, bool>;

bool is_member(const Pod& pod, const Service& service) {
  return selects(service, pod.labels) && !has_ended(pod) && !pod.ips.empty() &&
         (service.publish_not_ready || !pod.deletion_timestamp);
}

// Ports with the same servers share a subset (RepackSubsets).
std::vector<Subset> pack(const std::map<std::optional<EndpointPort>, Servers>& servers_of) {
  std::map<Servers, std::vector<EndpointPort>> ports_of;
  for (const auto& [port, servers] : servers_of) {
    auto& ports = ports_of[servers];
    if (port) ports.push_back(*port);
  }
  std::vector<Subset> subsets;
  for (auto& [servers, ports] : ports_of) {
    Subset& subset = subsets.emplace_back();
    for (const auto& [address, ready] : servers) {
      (ready ? subset.ready : subset.not_ready).push_back(address);
    }
    subset.ports = std::move(ports);
  }
  return subsets;
}

Labels labels_of(const Service& service) {
  Labels labels{{"endpoints.kubernetes.io/managed-by", "endpoint-controller"}};
  if (service.headless) labels["service.kubernetes.io/headless"] = "";
  return labels;
}

}  // namespace

EndpointsController::EndpointsController(net::Loop& loop, KubeStore& store)
    : store_(store), queue_(loop, store, [this](const std::string& service) { sync(service); }) {
  queue_.pause();
}

// Endpoints whose Service went meanwhile are due as well.
void EndpointsController::resume() {
  queue_.resume();
  for (const auto& [name, object] : store_.all(Resource::kEndpoints)) queue_.schedule(name);
}

void EndpointsController::sync(const std::string& service) {
  const auto* found = store_.get<Service>(Resource::kServices, service);
  if (found == nullptr) {
    store_.remove(Resource::kEndpoints, service);
    return;
  }
  if (found->selector.empty()) return;
  Endpoints endpoints{service, labels_of(*found), false, subsets(*found)};
  endpoints.truncated = truncate(endpoints.subsets);
  store_.put(std::move(endpoints));
}

std::vector<Subset> EndpointsController::subsets(const Service& service) const {
  std::map<std::optional<EndpointPort>, Servers> servers_of;
  for (const auto& [name, object] : store_.all(Resource::kPods)) {
    const auto& pod = std::get<Pod>(object->spec());
    if (!is_member(pod, service)) continue;
    const SubsetAddress address{pod.ips.front(), pod.name, pod.uid, pod.node};
    const bool ready = service.publish_not_ready || pod.ready;
    // A headless Service may have no ports.
    if (service.ports.empty() && service.headless) servers_of[std::nullopt][address] = ready;
    for (const auto& port : ports_of(service, pod)) servers_of[port][address] = ready;
  }
  return pack(servers_of);
}

// Ready addresses go before others; each subset keeps its share, rounded up
// (truncateEndpoints).
bool EndpointsController::truncate(std::vector<Subset>& subsets) const {
  std::size_t ready = 0;
  std::size_t not_ready = 0;
  for (const auto& subset : subsets) {
    ready += subset.ready.size();
    not_ready += subset.not_ready.size();
  }
  if (ready + not_ready <= endpoints_max_) return false;
  const bool cut_ready = ready > endpoints_max_;
  const std::size_t total = cut_ready ? ready : not_ready;
  const std::size_t room = cut_ready ? endpoints_max_ : endpoints_max_ - ready;
  std::size_t left = room;
  for (auto& subset : subsets) {
    auto& list = cut_ready ? subset.ready : subset.not_ready;
    const std::size_t share = (list.size() * room + total - 1) / total;
    list.resize(std::min({list.size(), share, left}));
    left -= list.size();
    if (cut_ready) subset.not_ready.clear();
  }
  return true;
}

}  // namespace lastcall::fakes
