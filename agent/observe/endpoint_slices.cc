#include "agent/observe/endpoint_slices.h"

#include <algorithm>
#include <utility>

namespace lastcall::observe {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::string_view kKind = "endpointslices";
// Slices of anybody else do not follow the pod's deletion (FACTS 1.1).
constexpr std::string_view kController = "endpointslice-controller.k8s.io";
// A selector beyond this makes URLs that proxies refuse; then the namespace is listed whole.
constexpr std::size_t kSelectorBytesMax = 4096;

bool shares_port(const SliceFacts& a, const SliceFacts& b) {
  return std::any_of(a.port_names.begin(), a.port_names.end(), [&b](const std::string& name) {
    return std::find(b.port_names.begin(), b.port_names.end(), name) != b.port_names.end();
  });
}

// Whether somebody else is ready for what this slice offers, in the same address family.
bool has_company(const SliceFacts& slice, const std::map<std::string, SliceFacts>& slices) {
  return std::any_of(slices.begin(), slices.end(), [&slice](const auto& entry) {
    const SliceFacts& other = entry.second;
    return other.others_ready && other.address_type == slice.address_type &&
           (slice.port_names.empty() || shares_port(slice, other));
  });
}

Verdict judge_entry(const k8s::OwnEndpoint& own, const SliceFacts& slice,
                    const std::map<std::string, SliceFacts>& slices, bool publish_not_ready) {
  using core::Presence;
  if (publish_not_ready && own.terminating) {
    return {Presence::kWithdrawn, "terminating, published although not ready"};
  }
  if (own.ready) return {Presence::kRoutable, "ready"};
  // Readiness may flip back as long as the controller has not seen the deletion.
  if (!own.terminating) return {Presence::kRoutable, "not ready, but not yet terminating"};
  // kube-proxy falls back to serving endpoints when no ready one is left (KEP-1669).
  if (own.serving && !has_company(slice, slices)) {
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

}  // namespace

std::optional<Verdict> judge(const std::map<std::string, SliceFacts>& slices,
                             bool publish_not_ready) {
  std::optional<Verdict> worst;
  for (const auto& [name, slice] : slices) {
    for (const k8s::OwnEndpoint& own : slice.own) {
      Verdict verdict = judge_entry(own, slice, slices, publish_not_ready);
      verdict.detail += " in slice " + name;
      if (!worst || weight(verdict.presence) > weight(worst->presence)) worst = std::move(verdict);
    }
  }
  return worst;
}

EndpointSlices::EndpointSlices(k8s::ApiClient& api, net::Loop& loop, report::Log& log,
                               std::string pod_namespace, core::Thresholds thresholds, Emit emit)
    : api_(api),
      loop_(loop),
      log_(log),
      namespace_(std::move(pod_namespace)),
      thresholds_(thresholds),
      emit_(std::move(emit)),
      backoff_(milliseconds(200), seconds(5)),
      retry_(loop.make_timer([this] { learn_services(); })),
      relist_(loop.make_timer([this] {
        if (reflector_) reflector_->relist();
      })),
      retire_(loop.make_timer([this] { reflector_.reset(); })) {}

EndpointSlices::~EndpointSlices() = default;

void EndpointSlices::on_watch_restart(std::function<void(k8s::WatchRestart)> listener) {
  restart_listener_ = std::move(listener);
}

// ---- Which Services -----------------------------------------------------------------------

void EndpointSlices::identify(const k8s::PodView& pod) {
  const bool first = !pod_;
  pod_ = pod;
  identity_ = {pod.uid, pod.node_name, pod.addresses, pod.host_network, pod.ports};
  if (first) learn_services();
}

void EndpointSlices::announce() {
  // Until the Services have been learnt in a hold, somebody unknown may be sending.
  emit_(core::ConsumerKnown{{"services", namespace_}, thresholds_});
  for (const auto& [name, service] : services_) {
    emit_(core::ConsumerKnown{consumer(name), thresholds_of(service.view)});
  }
}

void EndpointSlices::begin() {
  holding_ = true;
  for (auto& [name, service] : services_) {
    service.told.reset();
    service.listed = false;
    service.absent_since.reset();
  }
  backoff_.reset();
  learn_services();
}

void EndpointSlices::end() {
  holding_ = false;
  lister_.reset();
  retry_->disarm();
  relist_->disarm();
  retire_->arm(loop_.now());
}

void EndpointSlices::learn_services() {
  if (!pod_) return;
  retry_->disarm();
  k8s::ListRequest request;
  request.path = "/api/v1/namespaces/" + namespace_ + "/services";
  request.resource = "services";
  request.kind = "ServiceList";
  k8s::Lister::Callbacks callbacks;
  callbacks.on_begin = [this] { listed_.clear(); };
  callbacks.on_item = [this](const k8s::PaddedText& item) -> net::Status {
    net::Result<k8s::ServiceView> service = k8s::parse_service(item);
    if (!service.ok()) return service.error();
    if (service.value().selects(pod_->labels)) listed_.push_back(std::move(service).value());
    return net::Done{};
  };
  callbacks.done = [this](const net::Result<std::string>& outcome) { on_services_listed(outcome); };
  lister_ = std::make_unique<k8s::Lister>(api_, std::move(request), std::move(callbacks));
}

void EndpointSlices::on_services_listed(const net::Result<std::string>& outcome) {
  if (!outcome.ok()) {
    const net::Error& error = outcome.error();
    if (error.message != last_error_) {
      last_error_ = error.message;
      log_.write(report::Level::kWarn, "services-unknown", {{"error", error.message}});
    }
    retry_->arm(loop_.now() + backoff_.next(loop_.random(), error.retry_after));
    // Those learnt at start are watched meanwhile.
    if (holding_) watch_slices();
    return;
  }
  last_error_.clear();
  adopt(std::exchange(listed_, {}));
  if (!holding_) return;
  emit_(core::ConsumerDropped{{"services", namespace_}});
  watch_slices();
}

void EndpointSlices::adopt(std::vector<k8s::ServiceView> selected) {
  for (auto& [name, service] : services_) service.selected = false;
  for (k8s::ServiceView& view : selected) {
    if (view.external_name) continue;
    Service& service = services_[view.name];
    service.selected = true;
    service.view = std::move(view);
    emit_(core::ConsumerKnown{consumer(service.view.name), thresholds_of(service.view)});
  }
  for (auto it = services_.begin(); it != services_.end();) {
    if (it->second.selected) {
      ++it;
      continue;
    }
    if (holding_) {
      // Its data plane may still lag behind the deletion or the new selector: settle it.
      tell(it->first, it->second,
           {core::Presence::kWithdrawn, "the Service does not select this pod any more"});
      ++it;
    } else {
      emit_(core::ConsumerDropped{consumer(it->first)});
      it = services_.erase(it);
    }
  }
}

core::ConsumerId EndpointSlices::consumer(const std::string& service) const {
  return {std::string(kKind), namespace_ + "/" + service};
}

core::Thresholds EndpointSlices::thresholds_of(const k8s::ServiceView& service) const {
  core::Thresholds thresholds = thresholds_;
  // Its withdrawal is never published: terminating plus what a careful operator would sleep.
  if (service.publish_not_ready && thresholds.blind.value > thresholds.settle.value) {
    thresholds.settle = thresholds.blind;
  }
  return thresholds;
}

// ---- Their slices -------------------------------------------------------------------------

std::string EndpointSlices::selector() const {
  std::string names;
  for (const auto& [name, service] : services_) {
    if (!service.selected) continue;
    if (!names.empty()) names += ',';
    names += name;
  }
  if (names.empty() || names.size() > kSelectorBytesMax) return {};
  return "kubernetes.io/service-name in (" + names + ")";
}

void EndpointSlices::watch_slices() {
  const bool any = std::any_of(services_.begin(), services_.end(),
                               [](const auto& entry) { return entry.second.selected; });
  if (!any) return;
  std::string wanted = selector();
  if (reflector_ && wanted == watched_) return;
  watched_ = std::move(wanted);
  k8s::ListRequest request;
  request.path = "/apis/discovery.k8s.io/v1/namespaces/" + namespace_ + "/endpointslices";
  request.resource = "endpointslices";
  request.kind = "EndpointSliceList";
  request.label_selector = watched_;
  retire_->disarm();
  k8s::ReflectorSink& sink = *this;
  reflector_ = std::make_unique<k8s::Reflector>(api_, std::move(request), sink);
  if (restart_listener_) reflector_->on_restart(restart_listener_);
}

EndpointSlices::Service* EndpointSlices::owner(const k8s::SliceView& slice) {
  const auto it = services_.find(slice.service);
  if (it == services_.end() || !it->second.selected) return nullptr;
  if (slice.managed_by != kController) return nullptr;
  return &it->second;
}

SliceFacts EndpointSlices::facts(const k8s::SliceView& slice, const Service& service) const {
  const std::uint32_t ready =
      service.view.local_only ? slice.ready_others_on_node : slice.ready_others;
  return {slice.address_type, slice.port_names, slice.own, ready > 0};
}

void EndpointSlices::on_list_begin() {
  for (auto& [name, service] : services_) service.incoming.clear();
}

net::Status EndpointSlices::on_list_item(const k8s::PaddedText& item) {
  const net::Result<k8s::SliceView> slice = parser_.parse(item, identity_);
  if (!slice.ok()) return slice.error();
  if (Service* service = owner(slice.value())) {
    service->incoming[slice.value().name] = facts(slice.value(), *service);
  }
  return net::Done{};
}

void EndpointSlices::on_list_end() {
  for (auto& [name, service] : services_) {
    if (!service.selected) continue;
    service.slices = std::exchange(service.incoming, {});
    service.listed = true;
    evaluate_listed(name, service);
  }
}

net::Status EndpointSlices::on_change(k8s::WatchVerb verb, const k8s::PaddedText& object) {
  const net::Result<k8s::SliceView> parsed = parser_.parse(object, identity_);
  if (!parsed.ok()) return parsed.error();
  const k8s::SliceView& slice = parsed.value();
  Service* service = owner(slice);
  if (service == nullptr) return net::Done{};
  if (verb == k8s::WatchVerb::kDeleted) {
    service->slices.erase(slice.name);
  } else {
    service->slices[slice.name] = facts(slice, *service);
  }
  evaluate(slice.service, *service);
  return net::Done{};
}

void EndpointSlices::evaluate(const std::string& name, Service& service) {
  // A Service that does not select us any more has been told about for good.
  if (!service.selected || !service.listed) return;
  if (std::optional<Verdict> verdict = judge(service.slices, service.view.publish_not_ready)) {
    service.absent_since.reset();
    tell(name, service, std::move(*verdict));
    return;
  }
  // One that said that it leaves us out may well forget us.
  if (service.told && service.told->presence == core::Presence::kWithdrawn) return;
  if (!service.absent_since) service.absent_since = loop_.now();
  arm_relist();
}

void EndpointSlices::evaluate_listed(const std::string& name, Service& service) {
  evaluate(name, service);
  if (!service.absent_since || loop_.now() < confirmation_due(service)) return;
  tell(name, service,
       {core::Presence::kWithdrawn, "absent, and so in a consistent list", service.absent_since});
  service.absent_since.reset();
}

net::Instant EndpointSlices::confirmation_due(const Service& service) const {
  return *service.absent_since + thresholds_of(service.view).settle.value;
}

void EndpointSlices::arm_relist() {
  std::optional<net::Instant> next;
  for (const auto& [name, service] : services_) {
    if (!service.absent_since) continue;
    const net::Instant due = confirmation_due(service);
    if (!next || due < *next) next = due;
  }
  if (next) relist_->arm(*next);
}

void EndpointSlices::tell(const std::string& name, Service& service, Verdict verdict) {
  if (service.told == verdict) return;
  service.told = verdict;
  emit_(core::Observed{consumer(name), verdict.presence, std::move(verdict.detail), verdict.since});
}

void EndpointSlices::tell_blind(const std::string& why) {
  for (auto& [name, service] : services_) {
    if (!service.selected) continue;
    service.absent_since.reset();
    tell(name, service, {core::Presence::kBlind, why});
  }
}

void EndpointSlices::on_blind(const net::Error& error) {
  if (error.message != last_error_) {
    last_error_ = error.message;
    log_.write(report::Level::kWarn, "endpointslices-blind", {{"error", error.message}});
  }
  tell_blind(error.message);
}

void EndpointSlices::on_sight() {
  last_error_.clear();
  for (auto& [name, service] : services_) evaluate(name, service);
}

}  // namespace lastcall::observe
