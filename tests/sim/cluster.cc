#include "tests/sim/cluster.h"

#include <string>
#include <utility>

namespace lastcall::sim {
namespace {

constexpr const char* kPortName = "web";
constexpr std::uint16_t kPort = 8080;
constexpr std::uint16_t kNeighboursPort = 8090;
constexpr const char* kByHand = "by-hand";

fakes::Pod make_pod(const std::string& name, int number, const Scenario& scenario) {
  fakes::Pod pod{.name = name};
  pod.ips = {"10.1.0." + std::to_string(number)};
  if (scenario.dual_stack) pod.ips.push_back("fd00::" + std::to_string(number));
  if (scenario.host_network) {
    pod.ports.clear();
    pod.named_ports[kPortName] = kPort;
  }
  return pod;
}

fakes::Pod make_own_pod(const Scenario& scenario) {
  fakes::Pod pod = make_pod(kOwnPod, 1, scenario);
  pod.node = kOwnNode;
  pod.grace = scenario.grace;
  pod.host_network = scenario.host_network;
  for (std::size_t i = 0; i < scenario.others.size(); ++i) pod.labels[service_name(i)] = "yes";
  pod.labels[kOwnPod] = "yes";
  return pod;
}

// On our host, behind the same address.
void make_neighbour(fakes::Pod& pod, const fakes::Pod& own) {
  pod.host_network = true;
  pod.ips = own.ips;
  pod.node = own.node;
  pod.named_ports[kPortName] = kNeighboursPort;
}

fakes::Service make_service(const std::string& name, const ServiceTraits& traits,
                            const Scenario& scenario) {
  fakes::Service service{.name = name, .selector = {{name, "yes"}}};
  service.headless = traits.headless;
  service.publish_not_ready = traits.publish_not_ready;
  service.local_only = traits.local_only;
  if (scenario.host_network) service.ports.at(0).target_name = kPortName;
  if (traits.settle) {
    service.annotations["lastcall/settle"] = std::to_string(traits.settle->count()) + "ms";
  }
  return service;
}

}  // namespace

void populate(fakes::FakeApiServer& server, const Scenario& scenario) {
  fakes::Pod own = make_own_pod(scenario);
  int number = 1;
  for (std::size_t i = 0; i < scenario.others.size(); ++i) {
    const std::string name = service_name(i);
    server.store().put(make_service(name, scenario.traits_of(i), scenario));
    for (int k = 0; k < scenario.others[i]; ++k) {
      auto other =
          make_pod("other-" + std::to_string(i) + "-" + std::to_string(k), ++number, scenario);
      other.labels[name] = "yes";
      if (scenario.other_node) other.node = "node-b";
      if (scenario.host_network && number == 2) make_neighbour(other, own);
      server.store().put(std::move(other));
    }
  }
  server.store().put(std::move(own));
  server.store().put(fakes::Node{.name = kOwnNode});
  if (scenario.by_hand) list_by_hand(server);
}

void list_by_hand(fakes::FakeApiServer& server) {
  server.store().put(fakes::Service{.name = kByHand});
  fakes::Slice slice{.name = kByHand, .service = kByHand, .managed_by = "people"};
  slice.endpoints = {{.pod = kOwnPod, .address = "10.1.0.1", .node = kOwnNode}};
  server.store().put(std::move(slice));
}

void unlist_by_hand(fakes::FakeApiServer& server) {
  server.store().remove(fakes::Resource::kSlices, kByHand);
}

void add_replacement(fakes::FakeApiServer& server, const Scenario& scenario) {
  auto pod = make_pod("replacement", 200, scenario);
  for (std::size_t i = 0; i < scenario.others.size(); ++i) pod.labels[service_name(i)] = "yes";
  server.store().put(std::move(pod));
}

void apply(fakes::FakeApiServer& server, const ServiceChange& change, std::size_t number) {
  using Kind = ServiceChange::Kind;
  const std::string name = service_name(change.service);
  const std::string late = "late-" + std::to_string(number);
  const auto* found = server.store().get<fakes::Service>(fakes::Resource::kServices, name);
  switch (change.kind) {
    case Kind::kCreated:
      server.store().put(fakes::Service{.name = late, .selector = {{name, "yes"}}});
      break;
    case Kind::kCreatedAlone:
      server.store().put(fakes::Service{.name = late, .selector = {{kOwnPod, "yes"}}});
      break;
    case Kind::kDeleted:
      server.store().remove(fakes::Resource::kServices, name);
      break;
    case Kind::kRelabelled:
      if (found == nullptr) break;
      fakes::Service service = *found;
      service.selector = {{"other", "yes"}};
      server.store().put(std::move(service));
      break;
  }
}

}  // namespace lastcall::sim
