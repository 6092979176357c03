// The legacy Endpoints objects of the Services that select this pod, for consumers that still
// follow them. Opt-in: deprecated since Kubernetes 1.33.
//
// A terminating pod leaves `addresses` (FACTS 1.1). Three things make an object worthless as
// evidence, and then the consumer is blind, and so counts as gone after `blind` at the latest:
// over 1000 addresses it is truncated, and absence proves nothing; with its controller switched
// off it is stale, which shows in that it still lists us after our EndpointSlices have let go;
// and with publishNotReadyAddresses it lists us until the end.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "agent/core/drain.h"
#include "agent/observe/emit.h"
#include "agent/observe/reflection.h"
#include "agent/observe/services.h"
#include "agent/observe/verdict.h"
#include "agent/report/log.h"
#include "k8s/api_client.h"
#include "k8s/endpoints_view.h"
#include "k8s/pod_view.h"
#include "k8s/reflector.h"

namespace lastcall::observe {

// What the object says; nullopt: there is none. `slices_withdrawn`: the Service's EndpointSlices
// have let go of us, or would only fall back to us.
[[nodiscard]] Verdict judge(const std::optional<k8s::EndpointsView>& endpoints,
                            bool publish_not_ready, bool slices_withdrawn);

class LegacyEndpoints final : private k8s::ReflectorSink {
 public:
  // All must outlive this object.
  LegacyEndpoints(k8s::ApiClient& api, report::Log& log, std::string pod_namespace,
                  const Services& services, Emit emit);

  void identify(const k8s::PodView& pod);
  // The Services or their thresholds have changed.
  void on_services();
  // What the EndpointSlices of a Service say now. A last resort has been told of the stop as well
  // as one that is withdrawn; what cannot be seen says what it said before.
  void on_slices(const std::string& service, core::Presence presence);

  // Tells a new decision of the consumers known so far.
  void announce();
  void begin();
  void end();

  // At most one listener; for metrics.
  void on_watch_restart(std::function<void(k8s::WatchRestart)> listener) {
    reflection_.on_restart(std::move(listener));
  }

 private:
  struct Service {
    std::optional<core::Thresholds> thresholds;  // as told
    bool deleted = false;
    bool slices_withdrawn = false;
    bool asked = false;  // it has been known since before the last LIST began
    bool listed = false;
    std::optional<k8s::EndpointsView> endpoints;
    std::optional<k8s::EndpointsView> incoming;  // of a LIST under way
    std::optional<Verdict> told;
  };
  using Named = std::pair<const std::string, Service>;

  [[nodiscard]] core::ConsumerId id(const std::string& service) const;
  void watch();
  [[nodiscard]] bool ask_for_all();
  void evaluate(Named& named);
  void tell(Named& named, Verdict verdict);
  net::Status take(const k8s::PaddedText& object, std::optional<k8s::EndpointsView> Service::*into,
                   bool deleted);

  void on_list_begin() override;
  net::Status on_list_item(const k8s::PaddedText& item) override;
  void on_list_end() override;
  net::Status on_change(k8s::WatchVerb verb, const k8s::PaddedText& object) override;
  void on_blind(const net::Error& error) override;
  void on_sight() override;

  report::Log& log_;
  std::string namespace_;
  const Services& services_known_;
  Emit emit_;

  k8s::PodIdentity identity_;
  std::map<std::string, Service> services_;
  bool holding_ = false;
  bool blind_ = false;  // what is kept of the objects may be out of date
  // The field selector of the reflector; empty: the whole namespace. nullopt: none is of use.
  std::optional<std::string> watched_;
  std::string last_error_;
  Reflection reflection_;
};

}  // namespace lastcall::observe
