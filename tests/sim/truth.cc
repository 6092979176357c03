#include "tests/sim/truth.h"

#include <algorithm>
#include <utility>

namespace lastcall::sim {
namespace {

// How long DNS caches keep the addresses of a headless Service.
constexpr std::chrono::seconds kDnsCaches{30};

config::Annotations asked_by(const config::Settings& settings) {
  config::Annotations asked;
  asked.settle = settings.settle.value;
  asked.quiet = settings.quiet.value;
  asked.blind = settings.blind.value;
  asked.hold_min = settings.hold_min.value;
  asked.hold_max = settings.hold_max.value;
  asked.reserve = settings.reserve.value;
  asked.drain_max = settings.drain_max.value;
  asked.last_endpoint = settings.last_endpoint.value;
  return asked;
}

// What `annotations` say goes before what was asked for so far.
config::Annotations over(config::Annotations asked, const fakes::Labels& annotations) {
  const config::Annotations said = config::read_annotations(annotations).said;
  const auto put = [](auto& below, const auto& value) {
    if (value) below = value;
  };
  put(asked.settle, said.settle);
  put(asked.quiet, said.quiet);
  put(asked.blind, said.blind);
  put(asked.hold_min, said.hold_min);
  put(asked.hold_max, said.hold_max);
  put(asked.reserve, said.reserve);
  put(asked.drain_max, said.drain_max);
  put(asked.last_endpoint, said.last_endpoint);
  put(asked.ignore, said.ignore);
  return asked;
}

bool says_settle(const fakes::Labels& annotations) {
  return config::read_annotations(annotations).said.settle.has_value();
}

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
             const config::Settings& settings)
    : server_(server),
      pod_(std::move(pod)),
      asked_by_settings_(asked_by(settings)),
      settle_is_set_(settings.settle.source != config::Source::kDefault),
      asked_by_pod_(asked_by_settings_) {
  for (auto& service : services) consumers_[std::move(service)];
}

bool Truth::update(net::Instant now) {
  bool changed = false;
  update_pod();
  for (auto& [name, consumer] : consumers_) {
    const auto* service = server_.store().get<fakes::Service>(fakes::Resource::kServices, name);
    // One that is deleted goes on asking for what it asked for last.
    const config::Annotations asks = service == nullptr ? consumer.asked : asked(*service);
    if (asks != consumer.asked) {
      consumer.asked = asks;
      consumer.asked_at = now;
    }
    const bool ignore = consumer.asked.last_endpoint == config::LastEndpoint::kIgnore;
    const Presence presence = look(name, ignore);
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
    if (consumer.ignored()) continue;
    if (consumer.presence != Presence::kWithdrawn) return std::nullopt;
    last = std::max(last, *consumer.withdrawn_at);
  }
  return last;
}

// Once the Pod has gone, what it said last counts.
void Truth::update_pod() {
  const auto* pod = server_.store().get<fakes::Pod>(fakes::Resource::kPods, pod_);
  if (pod == nullptr) return;
  asked_by_pod_ = over(asked_by_settings_, pod->annotations);
  settle_is_said_ = settle_is_set_ || says_settle(pod->annotations);
}

// Built in: the DNS caches of a headless Service, unless a settle is said at any level; and
// `blind` where the withdrawal is never published.
config::Annotations Truth::asked(const fakes::Service& service) const {
  config::Annotations asked = over(asked_by_pod_, service.annotations);
  if (service.headless && !settle_is_said_ && !says_settle(service.annotations)) {
    asked.settle = std::max<config::Milliseconds>(*asked.settle, kDnsCaches);
  }
  if (service.publish_not_ready) asked.settle = std::max(*asked.settle, *asked.blind);
  return asked;
}

Presence Truth::look(const std::string& service, bool ignore_last_resort) const {
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
    if (!ignore_last_resort && is_last_resort(own, all, *found)) worst = Presence::kLastResort;
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
