#include "agent/observe/legacy_endpoints.h"

#include <utility>

namespace lastcall::observe {
namespace {

constexpr std::string_view kKind = "endpoints";

}  // namespace

Verdict judge(const std::optional<k8s::EndpointsView>& endpoints, bool publish_not_ready,
              bool slices_withdrawn) {
  using core::Presence;
  if (!endpoints) return {Presence::kWithdrawn, "there is no Endpoints object"};
  if (endpoints->own_ready || endpoints->own_not_ready) {
    if (publish_not_ready) return {Presence::kBlind, "listed to the end, although not ready"};
    if (slices_withdrawn) {
      return {Presence::kBlind,
              "still listed after the EndpointSlices let go: its controller lags or is off"};
    }
    return {Presence::kRoutable,
            endpoints->own_ready ? "listed as ready" : "not ready, but not yet terminating"};
  }
  if (endpoints->truncated) {
    return {Presence::kBlind, "truncated at 1000 addresses: absence proves nothing"};
  }
  return {Presence::kWithdrawn, "absent"};
}

LegacyEndpoints::LegacyEndpoints(k8s::ApiClient& api, report::Log& log, std::string pod_namespace,
                                 const Services& services, Emit emit)
    : log_(log),
      namespace_(std::move(pod_namespace)),
      services_known_(services),
      emit_(std::move(emit)),
      reflection_(api, *this) {}

void LegacyEndpoints::identify(const k8s::PodView& pod) { identity_ = k8s::identity_of(pod); }

core::ConsumerId LegacyEndpoints::id(const std::string& service) const {
  return {std::string(kKind), namespace_ + "/" + service};
}

void LegacyEndpoints::on_services() {
  const Services::Candidates& candidates = services_known_.candidates();
  for (auto it = services_.begin(); it != services_.end();) {
    const auto found = candidates.find(it->first);
    if (found != candidates.end() && found->second.ignored.empty()) {
      ++it;
      continue;
    }
    emit_(core::ConsumerDropped{id(it->first)});
    it = services_.erase(it);
  }
  for (const auto& [name, candidate] : candidates) {
    const bool known = services_.contains(name);
    if (!candidate.ignored.empty() || (!candidate.selects && !known)) continue;
    Named& named = *services_.try_emplace(name).first;
    Service& service = named.second;
    service.deleted = candidate.deleted;
    if (service.deleted) {
      tell(named, {core::Presence::kWithdrawn, "the Service was deleted"});
      continue;
    }
    const core::Thresholds thresholds = services_known_.thresholds(candidate);
    if (service.thresholds != thresholds) {
      service.thresholds = thresholds;
      emit_(core::ConsumerKnown{id(name), thresholds});
    }
    evaluate(named);
  }
  if (holding_) watch();
}

void LegacyEndpoints::on_slices(const std::string& service, core::Presence presence) {
  const auto found = services_.find(service);
  if (found == services_.end() || presence == core::Presence::kBlind) return;
  found->second.slices_withdrawn = presence != core::Presence::kRoutable;
  evaluate(*found);
}

void LegacyEndpoints::announce() {
  for (const auto& [name, service] : services_) {
    if (service.thresholds) emit_(core::ConsumerKnown{id(name), *service.thresholds});
  }
}

void LegacyEndpoints::begin() {
  holding_ = true;
  blind_ = false;
  for (auto& [name, service] : services_) {
    const auto thresholds = service.thresholds;
    service = {};
    service.thresholds = thresholds;
  }
}

void LegacyEndpoints::end() {
  holding_ = false;
  watched_.reset();
  reflection_.end();
}

// One object can be asked for by its name; several only with the whole namespace.
void LegacyEndpoints::watch() {
  if (services_.empty()) return;
  std::string wanted;
  if (services_.size() == 1) wanted = "metadata.name=" + services_.begin()->first;
  const bool fresh = ask_for_all();
  if (watched_ && (watched_->empty() || *watched_ == wanted)) {
    // Nothing was kept of a Service that was not known.
    if (fresh) reflection_.relist();
    return;
  }
  watched_ = std::move(wanted);
  k8s::ListRequest request;
  request.path = "/api/v1/namespaces/" + namespace_ + "/endpoints";
  request.resource = "endpoints";
  request.kind = "EndpointsList";
  request.field_selector = *watched_;
  reflection_.begin(std::move(request));
}

// Returns whether some Service is new.
bool LegacyEndpoints::ask_for_all() {
  bool fresh = false;
  for (auto& [name, service] : services_) fresh |= !std::exchange(service.asked, true);
  return fresh;
}

net::Status LegacyEndpoints::take(const k8s::PaddedText& object,
                                  std::optional<k8s::EndpointsView> Service::*into, bool deleted) {
  net::Result<k8s::EndpointsView> parsed = k8s::parse_endpoints(object, identity_);
  if (!parsed.ok()) return parsed.error();
  const auto found = services_.find(parsed.value().name);
  if (found == services_.end()) return net::Done{};
  (found->second.*into).reset();
  if (!deleted) found->second.*into = std::move(parsed).value();
  if (into == &Service::endpoints) evaluate(*found);
  return net::Done{};
}

void LegacyEndpoints::on_list_begin() {
  for (auto& [name, service] : services_) service.incoming.reset();
}

net::Status LegacyEndpoints::on_list_item(const k8s::PaddedText& item) {
  return take(item, &Service::incoming, false);
}

void LegacyEndpoints::on_list_end() {
  blind_ = false;
  for (Named& named : services_) {
    named.second.endpoints = std::exchange(named.second.incoming, std::nullopt);
    named.second.listed = true;
    evaluate(named);
  }
}

net::Status LegacyEndpoints::on_change(k8s::WatchVerb verb, const k8s::PaddedText& object) {
  return take(object, &Service::endpoints, verb == k8s::WatchVerb::kDeleted);
}

void LegacyEndpoints::evaluate(Named& named) {
  const Service& service = named.second;
  if (blind_ || !service.listed || service.deleted) return;
  const Candidate& candidate = services_known_.candidates().at(named.first);
  tell(named, judge(service.endpoints, candidate.view.publish_not_ready, service.slices_withdrawn));
}

void LegacyEndpoints::tell(Named& named, Verdict verdict) {
  if (named.second.told == verdict) return;
  named.second.told = verdict;
  emit_(core::Observed{id(named.first), verdict.presence, std::move(verdict.detail)});
}

void LegacyEndpoints::on_blind(const net::Error& error) {
  blind_ = true;
  if (error.message != last_error_) {
    last_error_ = error.message;
    log_.write(report::Level::kWarn, "endpoints-blind", {{"error", error.message}});
  }
  for (Named& named : services_) {
    if (!named.second.deleted) tell(named, {core::Presence::kBlind, error.message});
  }
}

void LegacyEndpoints::on_sight() {
  blind_ = false;
  last_error_.clear();
  for (Named& named : services_) evaluate(named);
}

}  // namespace lastcall::observe
