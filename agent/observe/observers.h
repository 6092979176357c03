// All observers of one pod, wired together: who it is decides which Services there are, those
// and their annotations decide which consumers, and each consumer is looked at by its observer.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "agent/core/drain.h"
#include "agent/observe/emit.h"
#include "agent/observe/endpoint_slices.h"
#include "agent/observe/legacy_endpoints.h"
#include "agent/observe/services.h"
#include "agent/observe/tuning.h"
#include "agent/report/log.h"
#include "k8s/api_client.h"
#include "k8s/pod_view.h"

namespace lastcall::observe {

class Observers {
 public:
  struct Options {
    std::string pod_namespace;
    core::Thresholds thresholds;  // as the settings say
    bool legacy_endpoints = false;
  };

  // `api`, `loop` and `log` must outlive this object.
  Observers(k8s::ApiClient& api, net::Loop& loop, report::Log& log, const Options& options,
            Emit emit);

  // Each reading of the own Pod object. The first makes the Services be learnt; emits
  // PolicyChanged when its annotations have changed.
  void identify(const k8s::PodView& pod);

  // Tells a new decision of the consumers known so far.
  void announce();

  // Observing lasts from begin() to end(). Before and after, nothing is watched.
  void begin();
  void end();

  [[nodiscard]] const Services& services() const { return services_; }
  [[nodiscard]] const Tuning& tuning() const { return tuning_; }

  // Called after the Services or their thresholds have changed. At most one listener, as below.
  void on_change(std::function<void()> listener) { change_listener_ = std::move(listener); }
  // For metrics.
  void on_watch_restart(const std::function<void(k8s::WatchRestart)>& listener);
  void on_complaint(std::function<void(const Tuning::Complaint&)> listener) {
    tuning_.on_complaint(std::move(listener));
  }

 private:
  void on_services();

  Emit emit_;
  Tuning tuning_;
  Services services_;
  EndpointSlices slices_;
  std::optional<LegacyEndpoints> legacy_endpoints_;  // opt-in
  std::function<void()> change_listener_;
};

}  // namespace lastcall::observe
