// One stop of one pod in virtual time, for tests of Drain.
//
// Time stands still until at() moves it, and on its way at() wakes the Drain at next_wakeup()
// and never else: whatever a test expects to happen in time has to be announced there.
// Instants are read and written as the time since the test began.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "agent/core/drain.h"

namespace lastcall::core {

// How gtest prints what it compares.
inline void PrintTo(Phase value, std::ostream* out) { *out << to_string(value); }
inline void PrintTo(Presence value, std::ostream* out) { *out << to_string(value); }
inline void PrintTo(Source value, std::ostream* out) { *out << to_string(value); }
inline void PrintTo(Answer value, std::ostream* out) { *out << to_string(value); }
inline void PrintTo(GoneBy value, std::ostream* out) { *out << to_string(value); }
inline void PrintTo(Trigger value, std::ostream* out) { *out << to_string(value); }
inline void PrintTo(HoldEnd value, std::ostream* out) { *out << to_string(value); }
inline void PrintTo(DrainEnd value, std::ostream* out) { *out << to_string(value); }
inline void PrintTo(const ConsumerId& id, std::ostream* out) { *out << id.kind << ' ' << id.name; }

// A time since the test began; prints as seconds.
struct After {
  Duration time{};

  After() = default;
  template <class Rep, class Period>
  After(std::chrono::duration<Rep, Period> since_start)  // NOLINT(google-explicit-constructor)
      : time(since_start) {}

  friend bool operator==(After, After) = default;
  friend void PrintTo(After value, std::ostream* out) {
    *out << std::chrono::duration<double>(value.time).count() << " s";
  }
};

struct Answered {
  After at;
  Answer answer;

  friend bool operator==(const Answered&, const Answered&) = default;
  friend void PrintTo(const Answered& value, std::ostream* out) {
    PrintTo(value.answer, out);
    *out << " after ";
    PrintTo(value.at, out);
  }
};

class Stop {
 public:
  explicit Stop(const Policy& policy = {}) : thresholds_(policy.thresholds), drain_(policy) {}

  // Moves the time on to `since_start`, waking the Drain whenever it asked to be woken.
  // Requires: `since_start` is not before now.
  Stop& at(Duration since_start);

  // ---- What happens, now ----

  Stop& tell(const Event& event);
  Stop& network_hook(HookId id) { return tell(HookArrived{id, Trust::kNetwork}); }
  Stop& local_hook(HookId id) { return tell(HookArrived{id, Trust::kLocal}); }
  // The pod was deleted just now, with `grace`; the deadline lies that far ahead.
  Stop& deleted(Duration grace) {
    return tell(PodSeen{PodState::kDeleted, now_, now_ + grace, grace});
  }
  // The deletion is seen, its deadline being `deadline` since the start of the test.
  Stop& deadline_seen(Duration deadline, std::optional<Duration> grace = std::nullopt) {
    return tell(PodSeen{PodState::kDeleted, now_, kStart + deadline, grace});
  }
  Stop& evicted() { return tell(PodSeen{PodState::kStopping, now_, {}, {}}); }
  // The pod is seen to be living, by a reading that began just now or at `asked_at`.
  Stop& living() { return tell(PodSeen{PodState::kLiving, now_, {}, {}}); }
  Stop& living(Duration asked_at) {
    return tell(PodSeen{PodState::kLiving, kStart + asked_at, {}, {}});
  }
  // One that says nothing itself has the thresholds of the pod.
  Stop& known(const std::string& name) { return known(name, thresholds_); }
  Stop& known(const std::string& name, const Thresholds& thresholds) {
    return tell(ConsumerKnown{id(name), thresholds});
  }
  Stop& dropped(const std::string& name) { return tell(ConsumerDropped{id(name)}); }
  Stop& seen(const std::string& name, Presence presence, const std::string& detail = "") {
    return tell(Observed{id(name), presence, detail});
  }
  Stop& routable(const std::string& name) { return seen(name, Presence::kRoutable); }
  Stop& withdrawn(const std::string& name) { return seen(name, Presence::kWithdrawn); }
  Stop& last_resort(const std::string& name) { return seen(name, Presence::kLastResort); }
  Stop& blind(const std::string& name) { return seen(name, Presence::kBlind); }
  // A report of the traffic observer; the first covers the second before it.
  Stop& traffic(std::uint64_t arrivals, bool inbound_bytes = false) {
    return tell(TrafficSeen{arrivals, inbound_bytes, std::chrono::seconds(1)});
  }
  Stop& connections(std::optional<std::uint64_t> active) { return tell(ConnectionsSeen{active}); }

  // ---- What came of it ----

  [[nodiscard]] Phase phase() const { return drain_.phase(); }
  [[nodiscard]] Snapshot outcome() const { return drain_.snapshot(); }
  [[nodiscard]] bool may_be_followed() const { return drain_.may_be_followed(); }
  [[nodiscard]] std::optional<After> next_wakeup() const { return after(drain_.next_wakeup()); }
  [[nodiscard]] std::optional<After> hold_began() const { return when(Phase::kHolding); }
  [[nodiscard]] std::optional<After> drain_began() const { return when(Phase::kDraining); }
  [[nodiscard]] std::optional<After> released() const { return when(Phase::kReleased); }
  [[nodiscard]] std::optional<After> limit() const { return after(outcome().limit); }
  [[nodiscard]] std::optional<After> deadline() const { return after(outcome().deadline); }

  [[nodiscard]] std::optional<Answered> answer(HookId hook) const;

  // The names of those that were still there when the hold ended.
  [[nodiscard]] std::vector<std::string> still_there() const;

  // Requires: `name` is known.
  [[nodiscard]] ConsumerState consumer(const std::string& name) const;
  [[nodiscard]] std::optional<After> gone(const std::string& name) const {
    return after(consumer(name).gone_at);
  }

  // All actions of one kind, in their order.
  template <class Kind>
  [[nodiscard]] std::vector<Kind> all() const {
    std::vector<Kind> found;
    for (const auto& action : actions_) {
      if (const auto* one = std::get_if<Kind>(&action)) found.push_back(*one);
    }
    return found;
  }
  template <class Kind>
  [[nodiscard]] std::size_t count() const {
    return all<Kind>().size();
  }

  static ConsumerId id(const std::string& name) { return {"endpointslices", name}; }

 private:
  static constexpr Instant kStart = Instant{} + std::chrono::hours(1000);

  void take(std::vector<Action> actions);

  static std::optional<After> after(std::optional<Instant> instant) {
    return instant ? std::optional<After>(*instant - kStart) : std::nullopt;
  }
  [[nodiscard]] std::optional<After> when(Phase phase) const;

  Thresholds thresholds_;
  Drain drain_;
  Instant now_ = kStart;
  std::vector<Action> actions_;
  std::map<Phase, After> entered_;
  std::map<HookId, Answered> answers_;
};

}  // namespace lastcall::core
