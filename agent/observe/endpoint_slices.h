// The EndpointSlices of each Service that may send to this pod: has everybody who follows them
// been told to leave us out?
//
// An address stays in its slice until the pod has gone: a withdrawal is ready=false with
// terminating=true, or absence (FACTS 1.1). An entry that is absent may be on its way to another
// slice: an absence has to last for the settle, and then be confirmed by a consistent LIST.
// Nothing is watched before the hold.
//
// Slices that the endpointslice controller does not write (mirrored, hand-made) do not follow
// the pod's deletion: what they say of us cannot be waited for. When one lists us, its Service
// gets a second consumer, "unmanaged-endpointslices", which stays blind until the entry leaves,
// and so counts as gone after `blind` at the latest.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/core/drain.h"
#include "agent/observe/emit.h"
#include "agent/observe/reflection.h"
#include "agent/observe/services.h"
#include "agent/observe/verdict.h"
#include "agent/report/log.h"
#include "k8s/api_client.h"
#include "k8s/pod_view.h"
#include "k8s/reflector.h"
#include "k8s/service_view.h"
#include "k8s/slice_view.h"

namespace lastcall::observe {

// What is kept of one slice.
struct SliceFacts {
  k8s::AddressType address_type = k8s::AddressType::kIpv4;
  std::vector<std::string> port_names;
  std::vector<k8s::OwnEndpoint> own;
  bool others_ready = false;
  bool others_ready_on_node = false;
  bool follows_pod = true;  // the endpointslice controller writes it
  std::string manager{};    // who does
};

using Slices = std::map<std::string, SliceFacts>;  // of one Service, by name

// What the slices that follow the pod say about it. nullopt: no entry of ours is there, which
// means nothing until a consistent LIST says so too.
[[nodiscard]] std::optional<Verdict> judge(const Slices& slices, const k8s::ServiceView& service);

// The same of the slices that do not.
[[nodiscard]] std::optional<Verdict> judge_unmanaged(const Slices& slices);

class EndpointSlices final : private k8s::ReflectorSink {
 public:
  // All must outlive this object.
  EndpointSlices(k8s::ApiClient& api, net::Loop& loop, report::Log& log, std::string pod_namespace,
                 const Services& services, Emit emit);

  // Who we are, from the own Pod object.
  void identify(const k8s::PodView& pod);

  // The Services or their thresholds have changed.
  void on_services();

  // Tells a new decision of the consumers known so far.
  void announce();

  // The hold has begun: LIST and WATCH the slices, as soon as the Services are known.
  void begin();
  void end();

  // At most one listener; for metrics.
  void on_watch_restart(std::function<void(k8s::WatchRestart)> listener) {
    reflection_.on_restart(std::move(listener));
  }
  // Called with a Service's name and what its slices say. At most one listener.
  void on_verdict(std::function<void(const std::string&, core::Presence)> listener);

 private:
  // One consumer: what one kind of a Service's slices says.
  struct Route {
    std::optional<core::Thresholds> thresholds;  // as told; nullopt: the decision knows it not
    std::optional<Verdict> told;
    // Since when no entry of ours is there, while that still has to be confirmed.
    std::optional<net::Instant> absent_since;
  };
  struct Service {
    bool deleted = false;
    bool listed = false;              // `slices` come from a LIST of this hold
    bool lists_us_unmanaged = false;  // in this hold, now or before
    Slices slices;
    Slices incoming;  // of a LIST under way
    Route driven;
    Route unmanaged;
  };
  using Named = std::pair<const std::string, Service>;

  void drop(Named& named);
  void delete_service(Named& named);
  [[nodiscard]] const Candidate* candidate(const std::string& service) const;
  [[nodiscard]] core::ConsumerId id(const Route& route, const Named& named) const;
  void make_known(Route& route, const Named& named);

  void watch();
  [[nodiscard]] std::set<std::string> wanted() const;
  [[nodiscard]] Named* owner(const k8s::SliceView& slice);

  void evaluate(Named& named, bool just_listed);
  void evaluate(Route& route, const Named& named, std::optional<Verdict> verdict, bool just_listed);
  void arm_relist();
  void tell(Route& route, const Named& named, Verdict verdict);

  void on_list_begin() override;
  net::Status on_list_item(const k8s::PaddedText& item) override;
  void on_list_end() override;
  net::Status on_change(k8s::WatchVerb verb, const k8s::PaddedText& object) override;
  void on_blind(const net::Error& error) override;
  void on_sight() override;

  net::Loop& loop_;
  report::Log& log_;
  std::string namespace_;
  const Services& services_known_;
  Emit emit_;
  std::function<void(const std::string&, core::Presence)> verdict_listener_;

  k8s::PodIdentity identity_;
  k8s::SliceParser parser_;
  std::map<std::string, Service> services_;
  bool holding_ = false;
  bool blind_ = false;  // what is kept of the slices may be out of date

  std::set<std::string> watched_;  // the Services the reflector asks for
  net::Instant watched_at_{};      // since when
  std::string last_error_;
  Reflection reflection_;
  std::unique_ptr<net::Timer> rewatch_;
  std::unique_ptr<net::Timer> relist_;
};

}  // namespace lastcall::observe
