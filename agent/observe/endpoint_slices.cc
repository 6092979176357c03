#include "agent/observe/endpoint_slices.h"

#include <algorithm>
#include <utility>

namespace lastcall::observe {
namespace {

constexpr std::string_view kKind = "endpointslices";
constexpr std::string_view kUnmanagedKind = "unmanaged-endpointslices";
// Slices of anybody else do not follow the pod's deletion (FACTS 1.1).
constexpr std::string_view kController = "endpointslice-controller.k8s.io";
// A selector beyond this makes URLs that proxies refuse; then the namespace is listed whole.
constexpr std::size_t kSelectorBytesMax = 4096;
// Services that come while we hold make us list again, at most so often.
constexpr std::chrono::seconds kRewatchInterval{1};

bool offers(const SliceFacts& slice, const std::string& port) {
  return std::find(slice.port_names.begin(), slice.port_names.end(), port) !=
         slice.port_names.end();
}

// Whether somebody else is ready for each port this slice offers, in the same address family and
// in the scope the Service routes in. kube-proxy falls back for each port by itself.
bool has_company(const SliceFacts& slice, const Slices& slices, const k8s::ServiceView& service) {
  const auto others_offer = [&](const std::string* port) {
    return std::any_of(slices.begin(), slices.end(), [&](const auto& entry) {
      const SliceFacts& other = entry.second;
      const bool ready = service.local_only ? other.others_ready_on_node : other.others_ready;
      return ready && other.address_type == slice.address_type &&
             (port == nullptr || offers(other, *port));
    });
  };
  if (slice.port_names.empty()) return others_offer(nullptr);
  return std::all_of(slice.port_names.begin(), slice.port_names.end(),
                     [&](const std::string& port) { return others_offer(&port); });
}

Verdict judge_entry(const k8s::OwnEndpoint& own, const SliceFacts& slice, const Slices& slices,
                    const k8s::ServiceView& service) {
  using core::Presence;
  if (service.publish_not_ready && own.terminating) {
    return {Presence::kWithdrawn, "terminating, published although not ready"};
  }
  if (own.ready) return {Presence::kRoutable, "ready"};
  // Readiness may flip back as long as the controller has not seen the deletion.
  if (!own.terminating) return {Presence::kRoutable, "not ready, but not yet terminating"};
  // kube-proxy falls back to serving endpoints when no ready one is left (KEP-1669). It does
  // not route headless Services, and DNS never falls back.
  if (own.serving && !service.headless && !has_company(slice, slices, service)) {
    return {Presence::kLastResort, "the last endpoint: no other is ready"};
  }
  return {Presence::kWithdrawn, "ready=false"};
}

int weight(core::Presence presence) {
  switch (presence) {
    case core::Presence::kRoutable:
      return 3;
    case core::Presence::kLastResort:
      return 2;
    case core::Presence::kBlind:
      return 1;
    case core::Presence::kWithdrawn:
      return 0;
  }
  return 0;
}

SliceFacts facts(const k8s::SliceView& slice) {
  return {slice.address_type,
          slice.port_names,
          slice.own,
          slice.ready_others > 0,
          slice.ready_others_on_node > 0,
          slice.managed_by == kController,
          slice.managed_by};
}

}  // namespace

std::optional<Verdict> judge(const Slices& slices, const k8s::ServiceView& service) {
  std::optional<Verdict> worst;
  for (const auto& [name, slice] : slices) {
    if (!slice.follows_pod) continue;
    for (const k8s::OwnEndpoint& own : slice.own) {
      Verdict verdict = judge_entry(own, slice, slices, service);
      verdict.detail += " in slice " + name;
      if (!worst || weight(verdict.presence) > weight(worst->presence)) worst = std::move(verdict);
    }
  }
  return worst;
}

std::optional<Verdict> judge_unmanaged(const Slices& slices) {
  for (const auto& [name, slice] : slices) {
    if (slice.follows_pod || slice.own.empty()) continue;
    const std::string manager = slice.manager.empty() ? "nobody" : slice.manager;
    std::string detail = "listed in slice " + name;
    detail.append(" of ").append(manager).append(", which does not follow the pod");
    return Verdict{core::Presence::kBlind, std::move(detail)};
  }
  return std::nullopt;
}

EndpointSlices::EndpointSlices(k8s::ApiClient& api, net::Loop& loop, report::Log& log,
                               std::string pod_namespace, const Services& services, Emit emit)
    : loop_(loop),
      log_(log),
      namespace_(std::move(pod_namespace)),
      services_known_(services),
      emit_(std::move(emit)),
      reflection_(api, *this),
      rewatch_(loop.make_timer([this] { watch(); })),
      relist_(loop.make_timer([this] { reflection_.relist(); })) {}

void EndpointSlices::on_verdict(std::function<void(const std::string&, core::Presence)> listener) {
  verdict_listener_ = std::move(listener);
}

void EndpointSlices::identify(const k8s::PodView& pod) { identity_ = k8s::identity_of(pod); }

// ---- Which consumers ----------------------------------------------------------------------

void EndpointSlices::on_services() {
  for (auto it = services_.begin(); it != services_.end();) {
    const Candidate* known = candidate(it->first);
    if (known != nullptr && known->ignored.empty()) {
      ++it;
      continue;
    }
    drop(*it);
    watched_.erase(it->first);  // what its slices say meanwhile is not kept
    it = services_.erase(it);
  }
  for (const auto& [name, candidate] : services_known_.candidates()) {
    if (!candidate.ignored.empty()) continue;
    Named& named = *services_.try_emplace(name).first;
    Service& service = named.second;
    service.deleted = candidate.deleted;
    if (candidate.deleted) {
      delete_service(named);
      continue;
    }
    if (candidate.selects || service.driven.thresholds) make_known(service.driven, named);
    // Only its slices tell whether one without a selector sends to us: until they have been
    // listed it may.
    const bool may_list_us = holding_ && !service.listed && candidate.view.selector.empty();
    if (may_list_us || service.unmanaged.thresholds) make_known(service.unmanaged, named);
    evaluate(named, false);
  }
  if (holding_) watch();
}

void EndpointSlices::drop(Named& named) {
  for (const Route* route : {&named.second.driven, &named.second.unmanaged}) {
    if (route->thresholds) emit_(core::ConsumerDropped{id(*route, named)});
  }
}

// Its data plane may still lag behind the deletion: settle it.
void EndpointSlices::delete_service(Named& named) {
  for (Route* route : {&named.second.driven, &named.second.unmanaged}) {
    route->absent_since.reset();
    if (!route->thresholds) continue;
    tell(*route, named, {core::Presence::kWithdrawn, "the Service was deleted"});
  }
}

const Candidate* EndpointSlices::candidate(const std::string& service) const {
  const auto found = services_known_.candidates().find(service);
  return found == services_known_.candidates().end() ? nullptr : &found->second;
}

core::ConsumerId EndpointSlices::id(const Route& route, const Named& named) const {
  const bool driven = &route == &named.second.driven;
  return {std::string(driven ? kKind : kUnmanagedKind), namespace_ + "/" + named.first};
}

void EndpointSlices::make_known(Route& route, const Named& named) {
  const core::Thresholds thresholds = services_known_.thresholds(*candidate(named.first));
  if (route.thresholds == thresholds) return;
  route.thresholds = thresholds;
  emit_(core::ConsumerKnown{id(route, named), thresholds});
}

void EndpointSlices::announce() {
  for (auto& named : services_) {
    named.second.unmanaged = {};
    named.second.lists_us_unmanaged = false;
    Route& driven = named.second.driven;
    if (driven.thresholds) emit_(core::ConsumerKnown{id(driven, named), *driven.thresholds});
  }
}

void EndpointSlices::begin() {
  holding_ = true;
  blind_ = false;
  for (auto& [name, service] : services_) {
    const auto thresholds = service.driven.thresholds;
    service = {};
    service.driven.thresholds = thresholds;
  }
}

void EndpointSlices::end() {
  holding_ = false;
  watched_.clear();
  rewatch_->disarm();
  relist_->disarm();
  reflection_.end();
}

// ---- Their slices -------------------------------------------------------------------------

std::set<std::string> EndpointSlices::wanted() const {
  std::set<std::string> names;
  for (const auto& [name, service] : services_) {
    if (!service.deleted) names.insert(name);
  }
  return names;
}

void EndpointSlices::watch() {
  std::set<std::string> names = wanted();
  if (std::includes(watched_.begin(), watched_.end(), names.begin(), names.end())) return;
  if (reflection_.lasts() && loop_.now() < watched_at_ + kRewatchInterval) {
    rewatch_->arm(watched_at_ + kRewatchInterval);
    return;
  }
  watched_at_ = loop_.now();
  watched_ = std::move(names);
  std::string joined;
  for (const std::string& name : watched_) joined += (joined.empty() ? "" : ",") + name;
  k8s::ListRequest request;
  request.path = "/apis/discovery.k8s.io/v1/namespaces/" + namespace_ + "/endpointslices";
  request.resource = "endpointslices";
  request.kind = "EndpointSliceList";
  if (joined.size() <= kSelectorBytesMax) {
    request.label_selector = "kubernetes.io/service-name in (" + joined + ")";
  }
  reflection_.begin(std::move(request));
}

EndpointSlices::Named* EndpointSlices::owner(const k8s::SliceView& slice) {
  const auto it = services_.find(slice.service);
  return it == services_.end() ? nullptr : &*it;
}

void EndpointSlices::on_list_begin() {
  for (auto& [name, service] : services_) service.incoming.clear();
}

net::Status EndpointSlices::on_list_item(const k8s::PaddedText& item) {
  const net::Result<k8s::SliceView> slice = parser_.parse(item, identity_);
  if (!slice.ok()) return slice.error();
  if (Named* named = owner(slice.value())) {
    named->second.incoming[slice.value().name] = facts(slice.value());
  }
  return net::Done{};
}

void EndpointSlices::on_list_end() {
  blind_ = false;
  for (Named& named : services_) {
    if (!watched_.contains(named.first)) continue;
    named.second.slices = std::exchange(named.second.incoming, {});
    named.second.listed = true;
    evaluate(named, true);
  }
}

net::Status EndpointSlices::on_change(k8s::WatchVerb verb, const k8s::PaddedText& object) {
  const net::Result<k8s::SliceView> parsed = parser_.parse(object, identity_);
  if (!parsed.ok()) return parsed.error();
  const k8s::SliceView& slice = parsed.value();
  Named* named = owner(slice);
  if (named == nullptr) return net::Done{};
  if (verb == k8s::WatchVerb::kDeleted) {
    named->second.slices.erase(slice.name);
  } else {
    named->second.slices[slice.name] = facts(slice);
  }
  evaluate(*named, false);
  return net::Done{};
}

// ---- What they say ------------------------------------------------------------------------

void EndpointSlices::evaluate(Named& named, bool just_listed) {
  Service& service = named.second;
  if (blind_ || !service.listed || service.deleted) return;
  if (service.driven.thresholds) {
    evaluate(service.driven, named, judge(service.slices, candidate(named.first)->view),
             just_listed);
  }
  std::optional<Verdict> unmanaged = judge_unmanaged(service.slices);
  if (unmanaged) {
    make_known(service.unmanaged, named);
    service.lists_us_unmanaged = true;
  }
  if (!service.unmanaged.thresholds) return;
  if (service.lists_us_unmanaged) {
    evaluate(service.unmanaged, named, std::move(unmanaged), just_listed);
  } else {
    emit_(core::ConsumerDropped{id(service.unmanaged, named)});
    service.unmanaged = {};
  }
}

void EndpointSlices::evaluate(Route& route, const Named& named, std::optional<Verdict> verdict,
                              bool just_listed) {
  if (verdict) {
    if (std::exchange(route.absent_since, std::nullopt)) arm_relist();
    tell(route, named, std::move(*verdict));
    return;
  }
  // One that said that it leaves us out may well forget us.
  if (route.told && route.told->presence == core::Presence::kWithdrawn) return;
  if (!route.absent_since) route.absent_since = loop_.now();
  if (just_listed && loop_.now() >= *route.absent_since + route.thresholds->settle.value) {
    tell(route, named,
         {core::Presence::kWithdrawn, "absent, and so in a consistent list", route.absent_since});
    route.absent_since.reset();
  }
  arm_relist();
}

// An absence is confirmed when it has lasted for the settle.
void EndpointSlices::arm_relist() {
  std::optional<net::Instant> next;
  for (const auto& [name, service] : services_) {
    for (const Route* route : {&service.driven, &service.unmanaged}) {
      if (!route->absent_since) continue;
      const net::Instant due = *route->absent_since + route->thresholds->settle.value;
      if (!next || due < *next) next = due;
    }
  }
  if (next) {
    relist_->arm(*next);
  } else {
    relist_->disarm();
  }
}

void EndpointSlices::tell(Route& route, const Named& named, Verdict verdict) {
  if (route.told == verdict) return;
  route.told = verdict;
  if (verdict_listener_ && &route == &named.second.driven) {
    verdict_listener_(named.first, verdict.presence);
  }
  emit_(
      core::Observed{id(route, named), verdict.presence, std::move(verdict.detail), verdict.since});
}

void EndpointSlices::on_blind(const net::Error& error) {
  blind_ = true;
  if (error.message != last_error_) {
    last_error_ = error.message;
    log_.write(report::Level::kWarn, "endpointslices-blind", {{"error", error.message}});
  }
  for (Named& named : services_) {
    if (named.second.deleted) continue;
    for (Route* route : {&named.second.driven, &named.second.unmanaged}) {
      route->absent_since.reset();
      if (route->thresholds) tell(*route, named, {core::Presence::kBlind, error.message});
    }
  }
}

void EndpointSlices::on_sight() {
  blind_ = false;
  last_error_.clear();
  for (Named& named : services_) evaluate(named, false);
}

}  // namespace lastcall::observe
