// The own Pod object: is the pod terminating, and until when?
//
// Sources: FACTS 1.2 and DESIGN 4. A deletionTimestamp is proof and is the deadline itself. An
// eviction by the kubelet and a node shutdown set none. The kubelet publishes their status.phase,
// status.reason and DisruptionTarget only when the containers have ended, so that while hooks
// run they show in the conditions of the Node alone, where we may read it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "agent/observe/emit.h"
#include "agent/observe/reflection.h"
#include "agent/report/log.h"
#include "k8s/api_client.h"
#include "k8s/node_view.h"
#include "k8s/pod_view.h"
#include "k8s/reflector.h"
#include "net/backoff.h"

namespace lastcall::observe {

// Reads the Pod object when asked, and goes on trying until it has been read. Holds a watch on
// it only when told to.
class OwnPod final : private k8s::ReflectorSink {
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
  // For so long after somebody asked, a failed reading is tried again within seconds. After that
  // nobody waits for it any more, and it is tried once a minute.
  static constexpr std::chrono::seconds kUrgent{60};

  // Makes a reading that begins now or later; emits PodSeen and GraceLearnt when it succeeds.
  // A reading under way counts, and is not begun again.
  void ask();

  // Watches the Pod from the next or last reading on: when its end, its labels or its annotations
  // change, there is a reading without anybody asking. Where that is forbidden it is said once,
  // and readings happen only when asked for.
  void watch();
  void unwatch();

  // Tells a new decision what was learnt so far: the grace period, and a deletion, from which there
  // is no way back.
  void announce();

  // Called with each reading, before its events are emitted.
  void on_pod(std::function<void(const k8s::PodView&)> listener);
  // At most one listener; for metrics.
  void on_watch_restart(std::function<void(k8s::WatchRestart)> listener) {
    reflection_.on_restart(std::move(listener));
  }

 private:
  void get(std::string path, std::string_view resource,
           void (OwnPod::*done)(const net::Result<k8s::ApiAnswer>&));
  void read();
  void on_answer(const net::Result<k8s::ApiAnswer>& answer);
  void tell_grace();
  void tell_deletion();
  void conclude(core::PodState state);
  void read_node();
  void on_node(const net::Result<k8s::ApiAnswer>& answer);
  void on_failure(const net::Error& error);
  void on_gone();
  void begin_watch();
  net::Status consider(const k8s::PaddedText& object);

  void on_list_begin() override {}
  net::Status on_list_item(const k8s::PaddedText& item) override { return consider(item); }
  void on_list_end() override {}
  net::Status on_change(k8s::WatchVerb verb, const k8s::PaddedText& object) override;
  void on_blind(const net::Error& error) override;
  void on_sight() override { last_watch_error_.clear(); }

  k8s::ApiClient& api_;
  net::Loop& loop_;
  report::Log& log_;
  Name name_;
  Emit emit_;
  std::function<void(const k8s::PodView&)> listener_;
  net::Backoff backoff_;
  net::Backoff idle_backoff_;
  net::Instant urgent_until_{};
  std::unique_ptr<net::Timer> retry_;
  std::unique_ptr<k8s::ApiCall> call_;
  std::optional<net::Instant> asked_at_;
  bool reading_ = false;    // a reading or a pause before the next is under way
  bool idle_ = false;       // that pause is a long one
  bool outdated_ = false;   // the watch has shown more since the reading began
  std::string last_error_;  // logged once, not at every retry

  bool gone_ = false;                     // the object was there once
  std::optional<k8s::PodView> pod_;       // the last reading,
  std::optional<net::Instant> deadline_;  // and what its deletionTimestamp means
  bool node_readable_ = true;

  bool watching_ = false;
  bool watchable_ = true;
  std::string last_watch_error_;
  Reflection reflection_;
};

// What a reading of the Pod object means for its stop.
[[nodiscard]] core::PodState pod_state(const k8s::PodView& pod);

// The same, when the Pod shows nothing, of its Node.
[[nodiscard]] core::PodState pod_state(const k8s::NodeView& node);

}  // namespace lastcall::observe
