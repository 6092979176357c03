// The Services of the own namespace that may send to this pod, and what each of them asks for.
//
// Learnt once after start, and again when the hold begins; from then on they are watched until
// it ends, so that a Service created, deleted, re-labelled or annotated meanwhile counts.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/core/drain.h"
#include "agent/observe/emit.h"
#include "agent/observe/reflection.h"
#include "agent/observe/tuning.h"
#include "agent/report/log.h"
#include "k8s/api_client.h"
#include "k8s/lister.h"
#include "k8s/pod_view.h"
#include "k8s/reflector.h"
#include "k8s/service_view.h"
#include "net/backoff.h"

namespace lastcall::observe {

// A Service whose endpoints have to be looked at.
struct Candidate {
  k8s::ServiceView view;
  // Its selector matches our labels. One that matched earlier in this hold stays a candidate:
  // what its slices say counts. One without a selector is a candidate too, since anybody may
  // have put our address into its slices.
  bool selects = false;
  bool deleted = false;  // while holding
  std::string ignored;   // why it is not waited for; empty: it is
};

class Services final : private k8s::ReflectorSink {
 public:
  using Candidates = std::map<std::string, Candidate>;  // by name

  // All must outlive this object.
  Services(k8s::ApiClient& api, net::Loop& loop, report::Log& log, std::string pod_namespace,
           Tuning& tuning, Emit emit);

  // Who we are, from the own Pod object. The first call learns the Services; a later one with
  // other labels does so again while holding.
  void identify(const k8s::PodView& pod);

  // Tells a new decision that somebody unknown may be sending, until the Services are learnt in
  // a hold: the consumer "services NAMESPACE".
  void announce();

  // The hold has begun: learn the Services anew, and watch them.
  void begin();
  void end();

  // The Pod's annotations have changed.
  void retune();

  [[nodiscard]] const Candidates& candidates() const { return candidates_; }
  [[nodiscard]] core::Thresholds thresholds(const Candidate& candidate) const {
    return tuning_.service(candidate.view);
  }
  // Whether they have been listed since the hold began, or since the start.
  [[nodiscard]] bool learnt() const { return learnt_; }

  // Called after each change of candidates() or their thresholds, and after each learning.
  // At most one listener.
  void on_change(std::function<void()> listener);
  // At most one listener; for metrics.
  void on_watch_restart(std::function<void(k8s::WatchRestart)> listener) {
    reflection_.on_restart(std::move(listener));
  }

 private:
  void learn();
  void on_learnt(const net::Result<std::string>& outcome);
  [[nodiscard]] k8s::ListRequest request() const;
  [[nodiscard]] bool concerns_us(const k8s::ServiceView& view) const;
  void note(k8s::ServiceView view);
  void remove(const std::string& name);
  void changed();
  void complain(const net::Error& error);

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
  Tuning& tuning_;
  Emit emit_;
  std::function<void()> listener_;

  std::optional<k8s::Labels> labels_;                 // of the pod
  std::map<std::string, k8s::ServiceView> incoming_;  // of a LIST under way
  Candidates candidates_;
  bool holding_ = false;
  bool learnt_ = false;
  bool announced_ = false;  // the decision knows the consumer that stands for unknown Services

  std::unique_ptr<k8s::Lister> lister_;  // before the hold
  net::Backoff backoff_;                 // to a minute: nobody waits for them before the hold
  std::unique_ptr<net::Timer> retry_;
  std::string last_error_;
  Reflection reflection_;  // while holding
};

}  // namespace lastcall::observe
