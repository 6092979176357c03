// The own Pod object: is the pod terminating, and until when?
//
// Sources: FACTS 1.2 and DESIGN 4. A deletionTimestamp is proof and is the deadline itself. An
// eviction by the kubelet and a node shutdown set none; they show in status.phase,
// status.reason and the DisruptionTarget condition.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "agent/observe/emit.h"
#include "agent/report/log.h"
#include "k8s/api_client.h"
#include "k8s/pod_view.h"
#include "net/backoff.h"

namespace lastcall::observe {

// Reads the Pod object when asked, and goes on trying until it has been read. Holds no watch.
class OwnPod {
 public:
  struct Name {
    std::string pod_namespace;
    std::string name;
    std::string uid;  // empty: whatever pod has that name
  };

  // `api`, `loop` and `log` must outlive this object.
  OwnPod(k8s::ApiClient& api, net::Loop& loop, report::Log& log, Name name, Emit emit);

  // Readings begin at least this far apart, however often somebody asks: whoever reaches /hold
  // can make us ask.
  static constexpr std::chrono::milliseconds kInterval{500};

  // Makes a reading that begins now or later; emits GraceLearnt and PodSeen when it succeeds.
  // A reading under way counts, and is not begun again.
  void ask();

  // Tells a new decision what was learnt so far.
  void announce();

  // Called with each reading, before its events are emitted.
  void on_pod(std::function<void(const k8s::PodView&)> listener);

 private:
  void read();
  void on_answer(const net::Result<k8s::ApiAnswer>& answer);
  void on_failure(const net::Error& error);
  void on_gone();

  k8s::ApiClient& api_;
  net::Loop& loop_;
  report::Log& log_;
  Name name_;
  Emit emit_;
  std::function<void(const k8s::PodView&)> listener_;
  net::Backoff backoff_;
  std::unique_ptr<net::Timer> retry_;
  std::unique_ptr<k8s::ApiCall> call_;
  std::optional<net::Instant> asked_at_;
  bool reading_ = false;                       // a reading or a pause before the next is under way
  std::optional<std::chrono::seconds> grace_;  // of the first reading on
  std::string last_error_;                     // logged once, not at every retry
};

// What a reading of the Pod object means for its stop.
[[nodiscard]] core::PodState pod_state(const k8s::PodView& pod);

}  // namespace lastcall::observe
