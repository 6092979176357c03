#include "tests/sim/truth.h"

#include <algorithm>
#include <utility>

namespace lastcall::sim {
namespace {

bool is_ipv6(const fakes::Endpoint& endpoint) {
  return endpoint.address.find(':') != std::string::npos;
}

// kube-proxy falls back to serving endpoints when no ready one is left in a family, with a Local
// policy on the own node (KEP-1669). DNS, which is all a headless Service has, does not.
bool is_last_resort(const fakes::Endpoint& own, const std::vector<fakes::Endpoint>& all,
                    const fakes::Service& service) {
  if (!own.serving || !own.terminating || service.headless) return false;
  return std::none_of(all.begin(), all.end(), [&](const fakes::Endpoint& other) {
    const bool in_scope = !service.local_only || other.node == own.node;
    return other.pod != own.pod && other.ready && in_scope && is_ipv6(other) == is_ipv6(own);
  });
}

}  // namespace

Truth::Truth(fakes::FakeApiServer& server, std::string pod, std::vector<std::string> services,
             bool ignore_last_resort)
    : server_(server), pod_(std::move(pod)), ignore_last_resort_(ignore_last_resort) {
  for (auto& service : services) consumers_[std::move(service)];
}

bool Truth::update(net::Instant now) {
  bool changed = false;
  for (auto& [service, consumer] : consumers_) {
    const Presence presence = look(service);
    if (presence == consumer.presence) continue;
    changed = true;
    consumer.presence = presence;
    consumer.changed_at = now;
    if (presence == Presence::kWithdrawn) consumer.withdrawn_at = now;
  }
  return changed;
}

std::optional<net::Instant> Truth::withdrawn_at() const {
  net::Instant last{};
  for (const auto& [service, consumer] : consumers_) {
    if (consumer.presence != Presence::kWithdrawn) return std::nullopt;
    last = std::max(last, *consumer.withdrawn_at);
  }
  return last;
}

Presence Truth::look(const std::string& service) const {
  const auto* found = server_.store().get<fakes::Service>(fakes::Resource::kServices, service);
  if (found == nullptr) return Presence::kWithdrawn;
  const auto& slices = server_.slices();
  auto all = slices.endpoints(service);
  // On its way from one slice to another an entry is missed by nobody who routes.
  const auto moving = slices.in_transit(service);
  all.insert(all.end(), moving.begin(), moving.end());
  Presence worst = Presence::kWithdrawn;
  for (const auto& own : all) {
    if (own.pod != pod_) continue;
    // What publishes pods that are not ready shows their end only.
    if (found->publish_not_ready && own.terminating) continue;
    if (own.ready) return Presence::kRoutable;
    if (!ignore_last_resort_ && is_last_resort(own, all, *found)) worst = Presence::kLastResort;
  }
  return worst;
}

const char* to_string(Presence presence) {
  switch (presence) {
    case Presence::kRoutable:
      return "routable";
    case Presence::kLastResort:
      return "last-resort";
    case Presence::kWithdrawn:
      return "withdrawn";
  }
  return "?";
}

}  // namespace lastcall::sim
