// The EndpointSlices of each Service that selects this pod: has everybody who follows them
// been told to leave us out?
//
// An address stays in its slice until the pod has gone: a withdrawal is ready=false with
// terminating=true, or absence (FACTS 1.1). An entry that is absent may be on its way to another
// slice: an absence has to last for the settle, and then be confirmed by a consistent LIST.
// Nothing is watched before the hold.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/core/drain.h"
#include "agent/observe/emit.h"
#include "agent/report/log.h"
#include "k8s/api_client.h"
#include "k8s/lister.h"
#include "k8s/pod_view.h"
#include "k8s/reflector.h"
#include "k8s/service_view.h"
#include "k8s/slice_view.h"
#include "net/backoff.h"

namespace lastcall::observe {

// What is kept of one slice.
struct SliceFacts {
  k8s::AddressType address_type = k8s::AddressType::kIpv4;
  std::vector<std::string> port_names;
  std::vector<k8s::OwnEndpoint> own;
  bool others_ready = false;  // in the scope the Service routes in
};

struct Verdict {
  core::Presence presence;
  std::string detail;
  std::optional<net::Instant> since = std::nullopt;

  friend bool operator==(const Verdict&, const Verdict&) = default;
};

// What the slices of one Service, by name, say about this pod. nullopt: no entry of ours is
// there, which means nothing until a consistent LIST says so too.
[[nodiscard]] std::optional<Verdict> judge(const std::map<std::string, SliceFacts>& slices,
                                           bool publish_not_ready);

class EndpointSlices final : private k8s::ReflectorSink {
 public:
  // `api`, `loop` and `log` must outlive this object. `thresholds` are those of a Service that
  // says nothing itself.
  EndpointSlices(k8s::ApiClient& api, net::Loop& loop, report::Log& log, std::string pod_namespace,
                 core::Thresholds thresholds, Emit emit);
  ~EndpointSlices() override;

  // Who we are, from the own Pod object. The first call learns the Services once.
  void identify(const k8s::PodView& pod);

  // Tells a new decision of the consumers known so far.
  void announce();

  // The hold has begun: learn the Services anew, LIST and WATCH their slices.
  void begin();
  void end();

  // At most one listener; for metrics.
  void on_watch_restart(std::function<void(k8s::WatchRestart)> listener);

 private:
  struct Service {
    k8s::ServiceView view;
    bool selected = true;  // by the last LIST of Services
    bool listed = false;   // `slices` come from a LIST of this hold
    // Since when no entry of ours is there, while that still has to be confirmed.
    std::optional<net::Instant> absent_since;
    std::map<std::string, SliceFacts> slices;
    std::map<std::string, SliceFacts> incoming;  // of a LIST under way
    std::optional<Verdict> told;
  };

  void learn_services();
  void on_services_listed(const net::Result<std::string>& outcome);
  void adopt(std::vector<k8s::ServiceView> selected);
  void watch_slices();
  [[nodiscard]] std::string selector() const;
  [[nodiscard]] core::Thresholds thresholds_of(const k8s::ServiceView& service) const;
  [[nodiscard]] core::ConsumerId consumer(const std::string& service) const;
  // The Service a slice belongs to, when it is one of ours and its slices follow the pod.
  [[nodiscard]] Service* owner(const k8s::SliceView& slice);
  [[nodiscard]] SliceFacts facts(const k8s::SliceView& slice, const Service& service) const;
  void evaluate(const std::string& name, Service& service);
  // The same, right after a consistent LIST.
  void evaluate_listed(const std::string& name, Service& service);
  [[nodiscard]] net::Instant confirmation_due(const Service& service) const;
  void arm_relist();
  void tell(const std::string& name, Service& service, Verdict verdict);
  void tell_blind(const std::string& why);

  void on_list_begin() override;
  net::Status on_list_item(const k8s::PaddedText& item) override;
  void on_list_end() override;
  net::Status on_change(k8s::WatchVerb verb, const k8s::PaddedText& object) override;
  void on_blind(const net::Error& error) override;
  void on_sight() override;

  k8s::ApiClient& api_;
  net::Loop& loop_;
  report::Log& log_;
  std::string namespace_;
  core::Thresholds thresholds_;
  Emit emit_;
  std::function<void(k8s::WatchRestart)> restart_listener_;

  std::optional<k8s::PodView> pod_;
  k8s::PodIdentity identity_;
  k8s::SliceParser parser_;
  std::map<std::string, Service> services_;
  bool holding_ = false;

  std::vector<k8s::ServiceView> listed_;  // of a LIST of Services under way
  std::unique_ptr<k8s::Lister> lister_;
  net::Backoff backoff_;
  std::unique_ptr<net::Timer> retry_;
  std::string last_error_;

  std::string watched_;  // the selector of the reflector
  std::unique_ptr<k8s::Reflector> reflector_;
  // Work on the reflector that may not be done from inside its callbacks.
  std::unique_ptr<net::Timer> relist_;
  std::unique_ptr<net::Timer> retire_;
};

}  // namespace lastcall::observe
