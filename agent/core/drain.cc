#include "agent/core/drain.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "agent/core/budget.h"

namespace lastcall::core {
namespace {

using std::chrono::seconds;

// A settle may end early when the chance that a consumer holding this share of the traffic is
// still sending, and was merely silent, is below kSilenceChance.
constexpr double kSilenceShare = 1.0 / 16;
constexpr double kSilenceChance = 1e-6;
// Fewer arrivals say too little about their rate; older ones say too little about now.
constexpr std::uint64_t kArrivalsForRate = 16;
constexpr Duration kRateWindow = seconds(10);

void keep_earliest(std::optional<Instant>& earliest, std::optional<Instant> candidate) {
  if (candidate && (!earliest || *candidate < *earliest)) earliest = candidate;
}

}  // namespace

Drain::Drain(const Policy& policy) : policy_(policy) {}

std::vector<Action> Drain::on_event(const Event& event, Instant now) {
  now_ = now;
  // The outcome stands: only hooks may still come.
  if (phase_ != Phase::kReleased || std::holds_alternative<HookArrived>(event)) {
    std::visit([this](const auto& e) { handle(e); }, event);
    proceed();
  }
  return std::exchange(actions_, {});
}

std::vector<Action> Drain::on_time(Instant now) {
  now_ = now;
  proceed();
  return std::exchange(actions_, {});
}

// ---- Events -------------------------------------------------------------------------------

void Drain::handle(const HookArrived& event) {
  if (phase_ == Phase::kReleased) {
    actions_.emplace_back(AnswerHook{event.id, Answer::kReleased});
    return;
  }
  hooks_[event.id] = Hook{event.trust, now_};
  // In a hold too: a kubelet that calls again may have been given another deadline.
  actions_.emplace_back(AskPod{});
}

void Drain::handle(const HookLeft& event) { hooks_.erase(event.id); }

void Drain::handle(const PodSeen& event) {
  if (event.state == PodState::kLiving) {
    pod_lives(event.asked_at);
    return;
  }
  // Whoever waits goes on waiting, to the bound of what cannot be verified.
  if (event.state == PodState::kUnclear) return;
  const bool deleted = event.state == PodState::kDeleted;
  if (deleted) {
    deletion_proven_ = true;
    learn_deadline(event);
  }
  const Trigger trigger = deleted ? Trigger::kDeletion : Trigger::kStopping;
  if (phase_ == Phase::kServing) {
    begin_hold(trigger);
  } else if (trigger_ == Trigger::kUnverified) {
    trigger_ = trigger;
  }
}

void Drain::learn_deadline(const PodSeen& event) {
  // It may only move earlier; a later reading of the same one differs by the clocks' grain.
  keep_earliest(deadline_of_deletion_, event.deadline);
  if (event.grace) {
    grace_of_deletion_ = std::min(grace_of_deletion_.value_or(*event.grace), *event.grace);
  }
}

// Only a reading that began after a hook's arrival can prove that the hook is not a stop.
void Drain::pod_lives(Instant asked_at) {
  const bool unproven = phase_ == Phase::kHolding && trigger_ == Trigger::kUnverified;
  if (phase_ != Phase::kServing && !unproven) return;
  std::vector<HookId> restarts;
  for (const auto& [id, hook] : hooks_) {
    if (hook.arrived <= asked_at) restarts.push_back(id);
  }
  if (unproven && restarts.size() == hooks_.size()) {
    end_hold(HoldEnd::kPodLives);
    return;
  }
  for (const HookId id : restarts) answer(id, Answer::kContainerRestart);
  if (!hooks_.empty()) actions_.emplace_back(AskPod{});
}

void Drain::handle(const GraceLearnt& event) { grace_learnt_ = event.grace; }

void Drain::handle(const PolicyChanged& event) { policy_.thresholds = event.thresholds; }

void Drain::handle(const DrainOrdered&) {
  if (phase_ == Phase::kServing) {
    begin_hold(Trigger::kOperator);
    actions_.emplace_back(AskPod{});
  } else if (trigger_ == Trigger::kUnverified) {
    trigger_ = Trigger::kOperator;
  }
}

void Drain::handle(const ReleaseOrdered&) {
  switch (phase_) {
    case Phase::kServing:
      while (!hooks_.empty()) answer(hooks_.begin()->first, Answer::kReleased);
      break;
    case Phase::kHolding:
      end_hold(HoldEnd::kForced);
      if (phase_ == Phase::kDraining) release(DrainEnd::kForced);
      break;
    case Phase::kDraining:
      release(DrainEnd::kForced);
      break;
    case Phase::kReleased:
      break;
  }
}

void Drain::handle(const ConsumerKnown& event) {
  const auto [it, added] = consumers_.try_emplace(event.id);
  it->second.thresholds = event.thresholds;
  if (added) {
    it->second.detail = "not seen yet";
    it->second.blind_since = now_;
  } else {
    judge(it->first, it->second);
  }
}

void Drain::handle(const ConsumerDropped& event) {
  if (phase_ != Phase::kDraining) consumers_.erase(event.id);
}

void Drain::handle(const Observed& event) {
  const auto it = consumers_.find(event.id);
  if (it == consumers_.end() || phase_ != Phase::kHolding) return;
  Consumer& consumer = it->second;
  consumer.observed = event.presence;
  consumer.detail = event.detail;
  consumer.since = event.since;
  judge(it->first, consumer);
}

// Applies the thresholds to what was observed last.
void Drain::judge(const ConsumerId& id, Consumer& consumer) {
  const bool ignored = consumer.observed == Presence::kLastResort &&
                       consumer.thresholds.last_endpoint.value == LastEndpoint::kIgnore;
  const Presence presence = ignored ? Presence::kWithdrawn : consumer.observed;
  if (presence != consumer.presence) {
    actions_.emplace_back(PresenceChanged{id, consumer.presence, presence, consumer.detail});
    if (presence == Presence::kBlind) consumer.blind_since = now_;
    consumer.presence = presence;
  }
  if (presence == Presence::kWithdrawn && !consumer.withdrawn_at) {
    consumer.withdrawn_at = std::max(consumer.since.value_or(now_), *hold_started_);
    consumer.rate_before = arrival_rate();
    // Being gone unseen ends here: from now on the settle decides.
    consumer.gone_at.reset();
    consumer.gone_by.reset();
  }
  const bool may_be_chosen = presence == Presence::kRoutable || presence == Presence::kLastResort;
  if (may_be_chosen && (consumer.withdrawn_at || consumer.gone_at)) {
    consumer.withdrawn_at.reset();
    consumer.rate_before.reset();
    consumer.gone_at.reset();
    consumer.gone_by.reset();
    actions_.emplace_back(ConsumerReturned{id});
  }
}

void Drain::handle(const TrafficSeen& event) {
  if (!traffic_) {
    const Instant since = now_ - event.covering;
    traffic_ = Traffic{now_, since, now_, {since, 0}, {since, 0}};
  }
  Traffic& traffic = *traffic_;
  if (now_ - traffic.window.since > kRateWindow) {
    traffic.window_before = traffic.window;
    traffic.window = {traffic.reported, 0};
  }
  traffic.reported = now_;
  traffic.window.arrivals += event.arrivals;
  if (event.arrivals > 0) traffic.last_arrival = now_;
  if (event.arrivals > 0 || event.inbound_bytes) traffic.last_inbound = now_;
}

void Drain::handle(const ConnectionsSeen& event) {
  // A proxy that cannot be asked has not said that it is drained.
  if (phase_ == Phase::kDraining) drained_ = event.active == 0U;
}

// ---- Phases -------------------------------------------------------------------------------

void Drain::proceed() {
  if (phase_ == Phase::kServing) proceed_serving();
  if (phase_ == Phase::kHolding) proceed_holding();
  if (phase_ == Phase::kDraining) proceed_draining();
}

void Drain::proceed_serving() {
  std::vector<HookId> expired;
  for (const auto& [id, hook] : hooks_) {
    if (now_ < verify_limit(hook)) continue;
    if (hook.trust == Trust::kLocal) {
      begin_hold(Trigger::kUnverified);
      return;
    }
    expired.push_back(id);
  }
  for (const HookId id : expired) answer(id, Answer::kUnverified);
}

void Drain::proceed_holding() {
  mark_gone();
  const auto limit = hold_limit();
  const bool nobody_left =
      std::none_of(consumers_.begin(), consumers_.end(),
                   [this](const auto& entry) { return is_waited_for(entry.second); });
  if (nobody_left && quiet() && now_ >= *hold_started_ + longest(&Thresholds::hold_min)) {
    end_hold(all_gone() ? HoldEnd::kAllGone : HoldEnd::kHoldMax);
  } else if (now_ >= limit.at) {
    end_hold(limit.reason);
  }
}

void Drain::proceed_draining() {
  const auto limit = drain_limit();
  if ((drained_ || !policy_.has_proxy) && now_ >= *drain_started_ + policy_.drain_min.value) {
    release(policy_.has_proxy ? DrainEnd::kDrained : DrainEnd::kNoProxy);
  } else if (now_ >= limit.at) {
    release(limit.reason);
  }
}

void Drain::mark_gone() {
  for (auto& [id, consumer] : consumers_) {
    if (consumer.gone_at) continue;
    if (const auto by = gone_by(consumer)) {
      consumer.gone_at = now_;
      consumer.gone_by = by;
      actions_.emplace_back(ConsumerGone{id, *by});
    }
  }
}

void Drain::begin_hold(Trigger trigger) {
  trigger_ = trigger;
  // A trusted hook is the start, although its proof was waited for. What anybody on the network
  // sends is not, or it could shorten the hold.
  hold_started_ = now_;
  for (const auto& [id, hook] : hooks_) {
    if (hook.trust == Trust::kLocal) hold_started_ = std::min(*hold_started_, hook.arrived);
  }
  for (auto& [id, consumer] : consumers_) consumer.blind_since = *hold_started_;
  enter(Phase::kHolding);
  actions_.emplace_back(BeginObserving{});
}

void Drain::end_hold(HoldEnd reason) {
  hold_end_ = reason;
  for (const auto& [id, consumer] : consumers_) {
    if (!consumer.gone_at) still_there_.push_back(id);
  }
  actions_.emplace_back(EndObserving{});
  // A proxy told to drain drains for ever: never in a pod that lives on.
  if (reason == HoldEnd::kPodLives) {
    release(DrainEnd::kNotBegun);
    return;
  }
  drain_started_ = now_;
  enter(Phase::kDraining);
  if (policy_.has_proxy) actions_.emplace_back(DrainProxy{});
}

void Drain::release(DrainEnd reason) {
  drain_end_ = reason;
  released_ = now_;
  enter(Phase::kReleased);
  const auto how = hold_end_ == HoldEnd::kPodLives ? Answer::kContainerRestart : Answer::kReleased;
  while (!hooks_.empty()) answer(hooks_.begin()->first, how);
}

void Drain::enter(Phase phase) {
  phase_ = phase;
  actions_.emplace_back(PhaseEntered{phase});
}

void Drain::answer(HookId id, Answer answer) {
  hooks_.erase(id);
  actions_.emplace_back(AnswerHook{id, answer});
}

// ---- Rules --------------------------------------------------------------------------------

std::optional<GoneBy> Drain::gone_by(const Consumer& consumer) const {
  if (consumer.withdrawn_at) {
    if (now_ >= *consumer.withdrawn_at + consumer.thresholds.settle.value) return GoneBy::kSettle;
    if (silent_since(consumer)) return GoneBy::kSilence;
    return std::nullopt;
  }
  if (consumer.presence == Presence::kBlind &&
      now_ >= consumer.blind_since + consumer.thresholds.blind.value) {
    return GoneBy::kBlind;
  }
  return std::nullopt;
}

bool Drain::all_gone() const {
  return std::all_of(consumers_.begin(), consumers_.end(),
                     [](const auto& entry) { return entry.second.gone_at.has_value(); });
}

bool Drain::is_waited_for(const Consumer& consumer) const {
  const auto& hold_max = consumer.thresholds.hold_max.value;
  return !consumer.gone_at && (!hold_max || now_ < *hold_started_ + *hold_max);
}

Duration Drain::longest(Sourced<Duration> Thresholds::*threshold) const {
  if (consumers_.empty()) return (policy_.thresholds.*threshold).value;
  Duration longest = Duration::zero();
  for (const auto& [id, consumer] : consumers_) {
    longest = std::max(longest, (consumer.thresholds.*threshold).value);
  }
  return longest;
}

std::optional<Duration> Drain::longest(Sourced<std::optional<Duration>> Thresholds::*limit) const {
  if (consumers_.empty()) return (policy_.thresholds.*limit).value;
  Duration longest = Duration::zero();
  for (const auto& [id, consumer] : consumers_) {
    const auto& value = (consumer.thresholds.*limit).value;
    if (!value) return std::nullopt;
    longest = std::max(longest, *value);
  }
  return longest;
}

// Without a traffic observer there is nothing to be quiet, and one that has ceased to report is
// not waited for beyond `blind`.
bool Drain::quiet() const {
  const Duration quiet = longest(&Thresholds::quiet);
  if (!traffic_ || quiet == Duration::zero() || now_ >= traffic_lost()) return true;
  return now_ - traffic_->reported <= quiet && traffic_->reported - traffic_->last_inbound >= quiet;
}

Instant Drain::traffic_lost() const {
  return std::max(traffic_->reported, *hold_started_) + longest(&Thresholds::blind);
}

// The chance that a consumer sending a kSilenceShare of Poisson arrivals at rate r shows none
// for a time T is exp(-r * T * kSilenceShare).
bool Drain::silent_since(const Consumer& consumer) const {
  if (!policy_.silence.value || !traffic_ || !consumer.rate_before) return false;
  const Instant last = std::max(*consumer.withdrawn_at, traffic_->last_arrival);
  const double silence = in_seconds(traffic_->reported - last);
  return std::exp(-*consumer.rate_before * silence * kSilenceShare) < kSilenceChance;
}

std::optional<double> Drain::arrival_rate() const {
  if (!traffic_) return std::nullopt;
  const std::uint64_t arrivals = traffic_->window_before.arrivals + traffic_->window.arrivals;
  const double observed = in_seconds(traffic_->reported - traffic_->window_before.since);
  if (arrivals < kArrivalsForRate || observed <= 0) return std::nullopt;
  return static_cast<double>(arrivals) / observed;
}

std::optional<Duration> Drain::known_grace() const {
  return grace_of_deletion_ ? grace_of_deletion_ : grace_learnt_;
}

// One that nobody told us is assumed to leave room for a hold of `blind`.
Duration Drain::grace() const {
  return known_grace().value_or(policy_.thresholds.blind.value + kept());
}

// Of several consumers' reserves the longest; one that says nothing asks for the usual one.
Duration Drain::reserve() const {
  const Duration usual = usual_reserve(known_grace().value_or(policy_.thresholds.blind.value));
  if (consumers_.empty()) return policy_.thresholds.reserve.value.value_or(usual);
  Duration longest = Duration::zero();
  for (const auto& [id, consumer] : consumers_) {
    longest = std::max(longest, consumer.thresholds.reserve.value.value_or(usual));
  }
  return longest;
}

Instant Drain::deadline() const {
  const Instant by_grace = *hold_started_ + grace();
  return std::min(deadline_of_deletion_.value_or(by_grace), by_grace);
}

Drain::Limit<HoldEnd> Drain::hold_limit() const {
  const Instant latest = deadline() - kept();
  Limit<HoldEnd> limit{latest, HoldEnd::kDeadline};
  const auto cut = [&limit](Instant at, HoldEnd reason) {
    if (at < limit.at) limit = {at, reason};
  };
  if (const auto hold_max = longest(&Thresholds::hold_max)) {
    cut(*hold_started_ + *hold_max, HoldEnd::kHoldMax);
  }
  if (!deletion_proven_) {
    cut(*hold_started_ + policy_.thresholds.blind.value, HoldEnd::kUnproven);
  }
  return limit;
}

Drain::Limit<DrainEnd> Drain::drain_limit() const {
  Limit<DrainEnd> limit{deadline() - policy_.margin.value, DrainEnd::kDeadline};
  const auto drain_max = longest(&Thresholds::drain_max);
  if (drain_max && *drain_started_ + *drain_max < limit.at) {
    limit = {*drain_started_ + *drain_max, DrainEnd::kDrainMax};
  }
  return limit;
}

// How long a hook waits for its proof: a trusted one briefly, since a hold may begin without;
// any other as long as a hold without proof would last.
Instant Drain::verify_limit(const Hook& hook) const {
  if (hook.trust == Trust::kLocal) return hook.arrived + policy_.verify_patience;
  Duration bound = std::min(policy_.thresholds.blind.value, grace() - kept());
  if (const auto hold_max = longest(&Thresholds::hold_max)) bound = std::min(bound, *hold_max);
  return hook.arrived + std::max(bound, policy_.verify_patience);
}

std::optional<Instant> Drain::next_wakeup() const {
  std::optional<Instant> next;
  switch (phase_) {
    case Phase::kServing:
      for (const auto& [id, hook] : hooks_) keep_earliest(next, verify_limit(hook));
      break;
    case Phase::kHolding: {
      keep_earliest(next, hold_limit().at);
      const Instant earliest = *hold_started_ + longest(&Thresholds::hold_min);
      if (earliest > now_) keep_earliest(next, earliest);
      if (traffic_ && traffic_lost() > now_) keep_earliest(next, traffic_lost());
      for (const auto& [id, consumer] : consumers_) {
        if (consumer.gone_at) continue;
        const auto& hold_max = consumer.thresholds.hold_max.value;
        if (hold_max && is_waited_for(consumer)) keep_earliest(next, *hold_started_ + *hold_max);
        if (consumer.withdrawn_at) {
          keep_earliest(next, *consumer.withdrawn_at + consumer.thresholds.settle.value);
        } else if (consumer.presence == Presence::kBlind) {
          keep_earliest(next, consumer.blind_since + consumer.thresholds.blind.value);
        }
      }
      break;
    }
    case Phase::kDraining: {
      keep_earliest(next, drain_limit().at);
      const Instant earliest = *drain_started_ + policy_.drain_min.value;
      if (earliest > now_) keep_earliest(next, earliest);
      break;
    }
    case Phase::kReleased:
      break;
  }
  return next;
}

bool Drain::may_be_followed() const { return phase_ == Phase::kReleased && !deletion_proven_; }

Snapshot Drain::snapshot() const {
  Snapshot snapshot;
  snapshot.phase = phase_;
  snapshot.trigger = trigger_;
  snapshot.hold_started = hold_started_;
  snapshot.drain_started = drain_started_;
  snapshot.released = released_;
  snapshot.hold_end = hold_end_;
  snapshot.drain_end = drain_end_;
  if (phase_ == Phase::kHolding) snapshot.limit = hold_limit().at;
  if (phase_ == Phase::kDraining) snapshot.limit = drain_limit().at;
  if (hold_started_) snapshot.deadline = deadline();
  snapshot.deadline_proven = deadline_of_deletion_.has_value();
  snapshot.hooks_waiting = hooks_.size();
  for (const auto& [id, consumer] : consumers_) {
    snapshot.consumers.push_back({id, consumer.thresholds, consumer.presence, consumer.detail,
                                  consumer.withdrawn_at, consumer.gone_at, consumer.gone_by});
  }
  snapshot.still_there = still_there_;
  if (const auto grace = known_grace()) {
    snapshot.budget = budget(*grace, policy_, snapshot.consumers);
  }
  return snapshot;
}

// ---- Words --------------------------------------------------------------------------------

std::string_view to_string(Phase phase) {
  switch (phase) {
    case Phase::kServing:
      return "serving";
    case Phase::kHolding:
      return "holding";
    case Phase::kDraining:
      return "draining";
    case Phase::kReleased:
      return "released";
  }
  return "?";
}

std::string_view to_string(Presence presence) {
  switch (presence) {
    case Presence::kRoutable:
      return "routable";
    case Presence::kLastResort:
      return "last-resort";
    case Presence::kWithdrawn:
      return "withdrawn";
    case Presence::kBlind:
      return "blind";
  }
  return "?";
}

std::string_view to_string(Source source) {
  switch (source) {
    case Source::kDefault:
      return "default";
    case Source::kConfigFile:
      return "config-file";
    case Source::kEnvironment:
      return "environment";
    case Source::kPodAnnotation:
      return "pod-annotation";
    case Source::kServiceAnnotation:
      return "service-annotation";
  }
  return "?";
}

std::string_view to_string(LastEndpoint last_endpoint) {
  return last_endpoint == LastEndpoint::kWait ? "wait" : "ignore";
}

std::string_view to_string(Answer answer) {
  switch (answer) {
    case Answer::kReleased:
      return "released";
    case Answer::kContainerRestart:
      return "container-restart";
    case Answer::kUnverified:
      return "unverified";
  }
  return "?";
}

std::string_view to_string(GoneBy gone_by) {
  switch (gone_by) {
    case GoneBy::kSettle:
      return "settle";
    case GoneBy::kSilence:
      return "silence";
    case GoneBy::kBlind:
      return "blind";
  }
  return "?";
}

std::string_view to_string(Trigger trigger) {
  switch (trigger) {
    case Trigger::kDeletion:
      return "deletion";
    case Trigger::kStopping:
      return "stopping";
    case Trigger::kUnverified:
      return "unverified";
    case Trigger::kOperator:
      return "operator";
  }
  return "?";
}

std::string_view to_string(HoldEnd reason) {
  switch (reason) {
    case HoldEnd::kAllGone:
      return "all-gone";
    case HoldEnd::kHoldMax:
      return "hold-max";
    case HoldEnd::kDeadline:
      return "deadline";
    case HoldEnd::kUnproven:
      return "unproven";
    case HoldEnd::kForced:
      return "forced";
    case HoldEnd::kPodLives:
      return "pod-lives";
  }
  return "?";
}

std::string_view to_string(DrainEnd reason) {
  switch (reason) {
    case DrainEnd::kDrained:
      return "drained";
    case DrainEnd::kNoProxy:
      return "no-proxy";
    case DrainEnd::kDrainMax:
      return "drain-max";
    case DrainEnd::kDeadline:
      return "deadline";
    case DrainEnd::kForced:
      return "forced";
    case DrainEnd::kNotBegun:
      return "not-begun";
  }
  return "?";
}

}  // namespace lastcall::core
