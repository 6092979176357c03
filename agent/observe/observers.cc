#include "agent/observe/observers.h"

#include <utility>

namespace lastcall::observe {

Observers::Observers(k8s::ApiClient& api, net::Loop& loop, report::Log& log, const Options& options,
                     Emit emit)
    : emit_(std::move(emit)),
      tuning_(log, options.pod_namespace, options.thresholds),
      services_(api, loop, log, options.pod_namespace, tuning_, emit_),
      slices_(api, loop, log, options.pod_namespace, services_, emit_) {
  services_.on_change([this] { on_services(); });
  if (!options.legacy_endpoints) return;
  legacy_endpoints_.emplace(api, log, options.pod_namespace, services_, emit_);
  slices_.on_verdict([this](const std::string& service, core::Presence presence) {
    legacy_endpoints_->on_slices(service, presence);
  });
}

void Observers::identify(const k8s::PodView& pod) {
  slices_.identify(pod);
  if (legacy_endpoints_) legacy_endpoints_->identify(pod);
  if (tuning_.read(pod)) {
    emit_(core::PolicyChanged{tuning_.pod()});
    services_.retune();
  }
  services_.identify(pod);
}

void Observers::on_services() {
  slices_.on_services();
  if (legacy_endpoints_) legacy_endpoints_->on_services();
  if (change_listener_) change_listener_();
}

void Observers::announce() {
  services_.announce();
  slices_.announce();
  if (legacy_endpoints_) legacy_endpoints_->announce();
}

void Observers::begin() {
  slices_.begin();
  if (legacy_endpoints_) legacy_endpoints_->begin();
  services_.begin();
}

void Observers::end() {
  slices_.end();
  if (legacy_endpoints_) legacy_endpoints_->end();
  services_.end();
}

void Observers::on_watch_restart(const std::function<void(k8s::WatchRestart)>& listener) {
  services_.on_watch_restart(listener);
  slices_.on_watch_restart(listener);
  if (legacy_endpoints_) legacy_endpoints_->on_watch_restart(listener);
}

}  // namespace lastcall::observe
