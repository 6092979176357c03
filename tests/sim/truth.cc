#include "tests/sim/truth.h"

#include <algorithm>
#include <utility>

#include "tests/fakes/members.h"

namespace lastcall::sim {
namespace {

constexpr const char* kSlices = "endpointslices";
constexpr const char* kEndpoints = "endpoints";
constexpr const char* kUnmanaged = "unmanaged-endpointslices";

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

Truth::Truth(fakes::FakeApiServer& server, std::string pod, const config::Settings& settings)
    : server_(server),
      pod_(std::move(pod)),
      asked_by_settings_(asked_by(settings)),
      settle_is_set_(settings.settle.source != config::Source::kDefault),
      has_endpoints_(settings.endpoints.value),
      asked_by_pod_(asked_by_settings_) {}

bool Truth::update(net::Instant now) {
  update_pod();
  discover(now);
  bool changed = false;
  for (auto& [id, consumer] : consumers_) changed |= update(id, consumer, now);
  return changed;
}

std::optional<net::Instant> Truth::withdrawn_at() const {
  net::Instant last{};
  for (const auto& [id, consumer] : consumers_) {
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
  labels_ = pod->labels;
  asked_by_pod_ = over(asked_by_settings_, pod->annotations);
  settle_is_said_ = settle_is_set_ || says_settle(pod->annotations);
}

void Truth::discover(net::Instant now) {
  const auto note = [&](const char* kind, const std::string& service) {
    Consumer fresh;
    fresh.appeared_at = fresh.changed_at = now;
    consumers_.try_emplace(id(kind, service), fresh);
  };
  for (const auto& [name, object] : server_.store().all(fakes::Resource::kServices)) {
    const auto& service = std::get<fakes::Service>(object->spec());
    const bool selects_us = fakes::selects(service, labels_);
    const bool may_list_us = selects_us || service.selector.empty();
    if (may_list_us && look_at_unmanaged(service).listed) note(kUnmanaged, name);
    if (!selects_us) continue;
    note(kSlices, name);
    if (has_endpoints_) note(kEndpoints, name);
  }
}

// A Service that is deleted routes nothing, and goes on asking for what it asked for last.
bool Truth::update(const core::ConsumerId& id, Consumer& consumer, net::Instant now) {
  const fakes::Service* found = service(id);
  Sight sight;
  if (found != nullptr) {
    const config::Annotations asks = asked(*found);
    if (asks != consumer.asked) consumer.asked_at = now;
    if (consumer.ignored() && !asks.ignore.value_or(false)) consumer.appeared_at = now;
    consumer.asked = asks;
    const bool ignore = asks.last_endpoint == config::LastEndpoint::kIgnore;
    sight = id.kind == kSlices      ? look_at_slices(*found, ignore)
            : id.kind == kEndpoints ? look_at_endpoints(*found)
                                    : look_at_unmanaged(*found);
  }
  const bool selects =
      id.kind == kUnmanaged ? sight.listed : found && fakes::selects(*found, labels_);
  if (consumer.selects && !selects) consumer.deselected_at = now;
  consumer.selects = selects;
  if (sight.listed && !consumer.listed) consumer.listed_at = now;
  consumer.listed = sight.listed;
  if (sight.presence == consumer.presence) return false;
  if (consumer.presence == Presence::kWithdrawn) {
    consumer.returned_at = now;
    consumer.withdrawn_before = consumer.withdrawn_at;
  }
  consumer.presence = sight.presence;
  consumer.changed_at = now;
  if (sight.presence == Presence::kWithdrawn) consumer.withdrawn_at = now;
  return true;
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

core::ConsumerId Truth::id(const char* kind, const std::string& service) const {
  return {kind, server_.store().namespace_name() + "/" + service};
}

const fakes::Service* Truth::service(const core::ConsumerId& id) const {
  const std::string name = id.name.substr(server_.store().namespace_name().size() + 1);
  return server_.store().get<fakes::Service>(fakes::Resource::kServices, name);
}

Truth::Sight Truth::look_at_slices(const fakes::Service& service, bool ignore_last_resort) const {
  const auto& slices = server_.slices();
  auto all = slices.endpoints(service.name);
  // On its way from one slice to another an entry is missed by nobody who routes.
  const auto moving = slices.in_transit(service.name);
  all.insert(all.end(), moving.begin(), moving.end());
  Sight sight;
  for (const auto& own : all) {
    if (own.pod != pod_) continue;
    sight.listed = true;
    // What publishes pods that are not ready shows their end only.
    if (service.publish_not_ready && own.terminating) continue;
    if (own.ready) return {Presence::kRoutable, true};
    if (!ignore_last_resort && is_last_resort(own, all, service)) {
      sight.presence = Presence::kLastResort;
    }
  }
  return sight;
}

// Who follows them falls back to nobody. Of what is truncated anything may have been left out.
Truth::Sight Truth::look_at_endpoints(const fakes::Service& service) const {
  const auto* found =
      server_.store().get<fakes::Endpoints>(fakes::Resource::kEndpoints, service.name);
  if (found == nullptr) return {};
  const auto is_own = [this](const fakes::SubsetAddress& address) { return address.pod == pod_; };
  for (const auto& subset : found->subsets) {
    if (std::any_of(subset.ready.begin(), subset.ready.end(), is_own)) {
      return {Presence::kRoutable, true};
    }
  }
  return {found->truncated ? Presence::kHidden : Presence::kWithdrawn, false};
}

// Its writer does not follow the pod: while we are listed we may be chosen.
Truth::Sight Truth::look_at_unmanaged(const fakes::Service& service) const {
  for (const auto& [name, object] : server_.store().all(fakes::Resource::kSlices)) {
    const auto& slice = std::get<fakes::Slice>(object->spec());
    if (slice.service != service.name || slice.managed_by == fakes::kSliceController) continue;
    const auto& all = slice.endpoints;
    const auto is_own = [this](const fakes::Endpoint& endpoint) { return endpoint.pod == pod_; };
    if (std::any_of(all.begin(), all.end(), is_own)) return {Presence::kRoutable, true};
  }
  return {};
}

const char* to_string(Presence presence) {
  switch (presence) {
    case Presence::kRoutable:
      return "routable";
    case Presence::kLastResort:
      return "last-resort";
    case Presence::kWithdrawn:
      return "withdrawn";
    case Presence::kHidden:
      return "hidden";
  }
  return "?";
}

}  // namespace lastcall::sim
