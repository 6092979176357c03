// The decision: how long a terminating pod goes on serving, as a pure function of what was
// seen and when (DESIGN 2).
//
// Drain is told events together with the current monotonic time and answers with actions,
// which are data. It performs no I/O, reads no clock, logs nothing and throws nothing. One
// Drain decides one stop of one pod.
//
//   serving -> holding -> draining -> released
//
// serving:  hooks that arrive are checked against the Pod object: a preStop hook also runs
//           when one container of a living pod restarts, and must then be answered at once.
// holding:  the pod is terminating and goes on serving until each consumer is gone.
// draining: the proxy is told to finish.
// released: hooks are answered; the kubelet may send SIGTERM.
#pragma once

#include <algorithm>
#include <chrono>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace lastcall::core {

using Instant = std::chrono::steady_clock::time_point;
using Duration = std::chrono::nanoseconds;

// For people and metrics.
[[nodiscard]] inline double in_seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

enum class Phase { kServing, kHolding, kDraining, kReleased };

// What an observation says about one consumer.
enum class Presence {
  kRoutable,    // it may choose us
  kLastResort,  // it would choose us only because nobody else is left
  kWithdrawn,   // it will not choose us
  kBlind,       // we cannot see
};

// Something that may send this pod traffic by one observable route.
struct ConsumerId {
  std::string kind;  // "endpointslices"
  std::string name;  // "shop/checkout"

  friend auto operator<=>(const ConsumerId&, const ConsumerId&) = default;
};

// Where an effective threshold came from, weakest first.
enum class Source { kDefault, kConfigFile, kEnvironment, kPodAnnotation, kServiceAnnotation };

template <class T>
struct Sourced {
  T value{};
  Source source = Source::kDefault;

  friend bool operator==(const Sourced&, const Sourced&) = default;
};

enum class LastEndpoint { kWait, kIgnore };

// What one consumer has to satisfy to count as gone, and what the pod does for its sake. Of
// quiet, hold_min, reserve and drain_max the longest of all consumers counts; hold_max ends the
// wait for this consumer only.
struct Thresholds {
  Sourced<Duration> settle{std::chrono::seconds(3)};
  Sourced<Duration> quiet{std::chrono::seconds(1)};
  // How long we wait without seeing it, from the start of the hold or from when it was last
  // seen, whichever is later.
  Sourced<Duration> blind{std::chrono::seconds(25)};
  Sourced<LastEndpoint> last_endpoint{LastEndpoint::kWait};
  Sourced<Duration> hold_min{Duration::zero()};
  Sourced<std::optional<Duration>> hold_max{};   // none: the deadline's
  Sourced<std::optional<Duration>> reserve{};    // none: 10 s, or a third of the grace period
  Sourced<std::optional<Duration>> drain_max{};  // none: the deadline's

  friend bool operator==(const Thresholds&, const Thresholds&) = default;
};

// What holds for the pod as a whole.
struct Policy {
  // Of a pod without consumers. Their `blind` also bounds a hold whose cause the API could not
  // confirm (eviction, API down).
  Thresholds thresholds{};
  Sourced<Duration> drain_min{Duration::zero()};
  Sourced<Duration> margin{std::chrono::seconds(1)};
  Sourced<bool> silence{true};  // conclusive silence may cut a settle short
  bool has_proxy = false;       // somebody reports connections while draining
  // How long a trusted hook waits for the Pod object before the hold begins without it.
  Duration verify_patience = std::chrono::seconds(1);
};

// Who asks to be told when the pod may stop.
enum class Trust {
  kNetwork,  // anyone in the cluster: never starts a hold, it only makes us look
  kLocal,    // a caller inside the pod, or our own SIGTERM: starts one when we cannot look
};

using HookId = std::uint64_t;

// ---- Events -------------------------------------------------------------------------------

struct HookArrived {
  HookId id;
  Trust trust;
};
// The caller has gone without waiting for its answer.
struct HookLeft {
  HookId id;
};

enum class PodState {
  kLiving,    // nothing is ending it: a hook means that one container restarts
  kDeleted,   // deletionTimestamp is set
  kStopping,  // evicted, or its node shuts down: it ends without a deletionTimestamp
  kUnclear,   // nothing shows, on a node that may be evicting pods: no proof of anything
};

// The own Pod object was read.
struct PodSeen {
  PodState state;
  Instant asked_at;                 // when the reading began
  std::optional<Instant> deadline;  // of deletionTimestamp, in our time
  std::optional<Duration> grace;    // deletionGracePeriodSeconds
};
// terminationGracePeriodSeconds, learnt at start.
struct GraceLearnt {
  Duration grace;
};
// The thresholds of the pod have changed. Those of its consumers are told one by one.
struct PolicyChanged {
  Thresholds thresholds;
};
// An operator starts the hold (POST /drain on the local listener).
struct DrainOrdered {};
// An operator ends the hold and the drain (POST /release on the local listener).
struct ReleaseOrdered {};

// A consumer exists, or its thresholds have changed. Until it is observed in this hold it is
// blind.
struct ConsumerKnown {
  ConsumerId id;
  Thresholds thresholds;
};
// It turned out not to be a consumer at all; it is forgotten without a settle.
struct ConsumerDropped {
  ConsumerId id;
};
struct Observed {
  ConsumerId id;
  Presence presence;
  std::string detail;  // for people: what was seen
  // When a withdrawal began, if it took until now to be sure of it.
  std::optional<Instant> since = std::nullopt;
};

// New connections and inbound bytes on the watched ports, over the time since the last report
// (or since `covering` ago, for the first).
struct TrafficSeen {
  std::uint64_t arrivals;
  bool inbound_bytes;
  Duration covering;
};
// Of the proxy being drained; nullopt: it could not be asked.
struct ConnectionsSeen {
  std::optional<std::uint64_t> active;
};

using Event = std::variant<HookArrived, HookLeft, PodSeen, GraceLearnt, PolicyChanged, DrainOrdered,
                           ReleaseOrdered, ConsumerKnown, ConsumerDropped, Observed, TrafficSeen,
                           ConnectionsSeen>;

// ---- Actions ------------------------------------------------------------------------------

// Read the own Pod object, and go on trying until it has been read.
struct AskPod {};
// The hold has begun: learn the consumers anew and watch them.
struct BeginObserving {};
struct EndObserving {};
struct DrainProxy {};

enum class Answer {
  kReleased,          // the stop has been decided
  kContainerRestart,  // the pod lives on; nothing to hold for
  kUnverified,        // the bound passed and the Pod object could not be read
};
struct AnswerHook {
  HookId id;
  Answer answer;
};

// Why a consumer counts as gone.
enum class GoneBy { kSettle, kSilence, kBlind };

// The rest is told for logs, metrics and events; nothing has to be done about it.
struct PhaseEntered {
  Phase phase;
};
struct PresenceChanged {
  ConsumerId id;
  Presence from;
  Presence to;
  std::string detail;
};
struct ConsumerGone {
  ConsumerId id;
  GoneBy by;
};
// It had been withdrawn, and is not any more: its settle starts anew at the next withdrawal.
struct ConsumerReturned {
  ConsumerId id;
};

using Action = std::variant<AskPod, BeginObserving, EndObserving, DrainProxy, AnswerHook,
                            PhaseEntered, PresenceChanged, ConsumerGone, ConsumerReturned>;

// ---- State as others may see it -------------------------------------------------------------

// Why the pod is held. An unverified hold takes the name of its proof when that comes.
enum class Trigger { kDeletion, kStopping, kUnverified, kOperator };

enum class HoldEnd {
  kAllGone,   // every consumer is gone
  kHoldMax,   // hold.max, of whoever was still there
  kDeadline,  // deadline - reserve
  kUnproven,  // `blind` passed, and no deletionTimestamp was ever seen
  kForced,    // an operator
  kPodLives,  // the Pod object showed that nothing is ending the pod
};

enum class DrainEnd {
  kDrained,   // no active connections
  kNoProxy,   // nothing to drain
  kDrainMax,  // drain.max
  kDeadline,  // deadline - margin
  kForced,    // an operator
  kNotBegun,  // the hold ended because the pod lives
};

struct ConsumerState {
  ConsumerId id;
  Thresholds thresholds;
  Presence presence = Presence::kBlind;
  std::string detail;
  std::optional<Instant> withdrawn_at;
  std::optional<Instant> gone_at;
  std::optional<GoneBy> gone_by;
};

// What a grace period leaves for the hold, and whether the thresholds fit into it.
struct Budget {
  Duration grace{};
  Duration kept{};  // for the drain: the reserve, or the margin when that is longer
  Duration hold{};  // the rest: no hold lasts longer

  Duration settle_needs{};  // the longest settle, and then the quiet
  Duration blind_needs{};   // the longest blind
  Duration grace_needed{};  // the shortest grace period that both fit into

  [[nodiscard]] bool settle_fits() const { return settle_needs <= hold; }
  [[nodiscard]] bool blind_fits() const { return blind_needs <= hold; }

  friend bool operator==(const Budget&, const Budget&) = default;
};

// The state now, and after the release the outcome.
struct Snapshot {
  Phase phase = Phase::kServing;
  std::optional<Trigger> trigger;
  std::optional<Instant> hold_started;  // the first trusted sign
  std::optional<Instant> drain_started;
  std::optional<Instant> released;
  std::optional<HoldEnd> hold_end;
  std::optional<DrainEnd> drain_end;
  // When the hold, or the drain, ends at the latest; nullopt outside of both.
  std::optional<Instant> limit;
  std::optional<Instant> deadline;
  bool deadline_proven = false;  // from a deletionTimestamp, not assumed
  std::optional<Budget> budget;  // of the grace period learnt, or of the deletion's
  std::size_t hooks_waiting = 0;
  std::vector<ConsumerState> consumers;
  // Consumers that were not gone when the hold ended; they are also in `consumers`.
  std::vector<ConsumerId> still_there;
};

// ---- The decision ---------------------------------------------------------------------------

class Drain {
 public:
  explicit Drain(const Policy& policy);

  // Requires: `now` never goes back between calls, of either method.
  [[nodiscard]] std::vector<Action> on_event(const Event& event, Instant now);
  [[nodiscard]] std::vector<Action> on_time(Instant now);

  // When on_time() has something to do at the latest, if nothing happens before.
  [[nodiscard]] std::optional<Instant> next_wakeup() const;

  [[nodiscard]] Phase phase() const { return phase_; }
  // Whether this stop ended without proof that the pod is ending: another hook may then
  // belong to another stop, which needs another Drain.
  [[nodiscard]] bool may_be_followed() const;
  [[nodiscard]] Snapshot snapshot() const;

 private:
  struct Consumer {
    Thresholds thresholds;
    Presence observed = Presence::kBlind;
    Presence presence = Presence::kBlind;  // after the thresholds
    std::string detail;
    std::optional<Instant> since;
    Instant blind_since{};
    std::optional<Instant> withdrawn_at;
    // Arrivals per second before the withdrawal, when enough were seen to tell.
    std::optional<double> rate_before;
    std::optional<Instant> gone_at;
    std::optional<GoneBy> gone_by;
  };
  struct Hook {
    Trust trust;
    Instant arrived;
  };
  struct RateWindow {
    Instant since;
    std::uint64_t arrivals;
  };
  struct Traffic {
    Instant reported;  // end of the last report
    Instant last_arrival;
    Instant last_inbound;
    RateWindow window_before;
    RateWindow window;
  };
  template <class Reason>
  struct Limit {
    Instant at;
    Reason reason;
  };

  void handle(const HookArrived& event);
  void handle(const HookLeft& event);
  void handle(const PodSeen& event);
  void handle(const GraceLearnt& event);
  void handle(const PolicyChanged& event);
  void handle(const DrainOrdered& event);
  void handle(const ReleaseOrdered& event);
  void handle(const ConsumerKnown& event);
  void handle(const ConsumerDropped& event);
  void handle(const Observed& event);
  void handle(const TrafficSeen& event);
  void handle(const ConnectionsSeen& event);
  void pod_lives(Instant asked_at);
  void learn_deadline(const PodSeen& event);
  void judge(const ConsumerId& id, Consumer& consumer);

  // Does whatever time allows, phase after phase.
  void proceed();
  void proceed_serving();
  void proceed_holding();
  void proceed_draining();
  void mark_gone();
  void begin_hold(Trigger trigger);
  void end_hold(HoldEnd reason);
  void release(DrainEnd reason);
  void enter(Phase phase);
  void answer(HookId id, Answer answer);

  [[nodiscard]] std::optional<GoneBy> gone_by(const Consumer& consumer) const;
  [[nodiscard]] bool all_gone() const;
  [[nodiscard]] bool is_waited_for(const Consumer& consumer) const;
  // The longest any consumer asks for; what the pod says when it has none.
  [[nodiscard]] Duration longest(Sourced<Duration> Thresholds::*threshold) const;
  // The same of limits; nullopt: somebody sets none.
  [[nodiscard]] std::optional<Duration> longest(
      Sourced<std::optional<Duration>> Thresholds::*limit) const;
  [[nodiscard]] bool quiet() const;
  // When a traffic observer that reports no more stops being waited for.
  [[nodiscard]] Instant traffic_lost() const;
  [[nodiscard]] bool silent_since(const Consumer& consumer) const;
  [[nodiscard]] std::optional<double> arrival_rate() const;
  [[nodiscard]] std::optional<Duration> known_grace() const;
  [[nodiscard]] Duration grace() const;
  [[nodiscard]] Duration reserve() const;
  // What the hold may not spend of the grace period.
  [[nodiscard]] Duration kept() const { return std::max(reserve(), policy_.margin.value); }
  [[nodiscard]] Instant deadline() const;
  [[nodiscard]] Limit<HoldEnd> hold_limit() const;
  [[nodiscard]] Limit<DrainEnd> drain_limit() const;
  [[nodiscard]] Instant verify_limit(const Hook& hook) const;

  Policy policy_;
  Instant now_{};
  std::vector<Action> actions_;

  Phase phase_ = Phase::kServing;
  std::map<HookId, Hook> hooks_;
  std::map<ConsumerId, Consumer> consumers_;
  std::optional<Traffic> traffic_;
  bool drained_ = false;  // the proxy said so, after the drain began

  std::optional<Duration> grace_learnt_;
  std::optional<Duration> grace_of_deletion_;
  std::optional<Instant> deadline_of_deletion_;
  bool deletion_proven_ = false;

  std::optional<Trigger> trigger_;
  std::optional<Instant> hold_started_;
  std::optional<Instant> drain_started_;
  std::optional<Instant> released_;
  std::optional<HoldEnd> hold_end_;
  std::optional<DrainEnd> drain_end_;
  std::vector<ConsumerId> still_there_;
};

[[nodiscard]] std::string_view to_string(Phase phase);
[[nodiscard]] std::string_view to_string(Presence presence);
[[nodiscard]] std::string_view to_string(Source source);
[[nodiscard]] std::string_view to_string(LastEndpoint last_endpoint);
[[nodiscard]] std::string_view to_string(Answer answer);
[[nodiscard]] std::string_view to_string(GoneBy gone_by);
[[nodiscard]] std::string_view to_string(Trigger trigger);
[[nodiscard]] std::string_view to_string(HoldEnd reason);
[[nodiscard]] std::string_view to_string(DrainEnd reason);

}  // namespace lastcall::core
