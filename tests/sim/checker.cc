#include "tests/sim/checker.h"

#include <algorithm>

namespace lastcall::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// deletionTimestamp and Date are cut to whole seconds.
constexpr seconds kGrain{1};
// How long a local hook waits for the Pod object before the hold begins without it.
constexpr seconds kPatience{1};
// Readings of the Pod object are at least so far apart.
constexpr milliseconds kReadingInterval{500};
// From a decision to what is seen of it.
constexpr milliseconds kInstantly{5};
// The longest backoff, and the request that follows it.
constexpr milliseconds kRecovery{6'000};
// A healthy network: one watch frame, or one more LIST.
constexpr milliseconds kPropagation{500};
// The same, from the news of a Service to that of its slices, which are not listed anew more often.
constexpr milliseconds kLearning{1'500};

std::string text(net::Duration duration) {
  return std::to_string(std::chrono::duration<double>(duration).count()) + " s";
}

const core::ConsumerState* find(const core::Snapshot& snapshot, const core::ConsumerId& id) {
  const auto& all = snapshot.consumers;
  const auto it = std::find_if(all.begin(), all.end(), [&](const auto& s) { return s.id == id; });
  return it == all.end() ? nullptr : &*it;
}

bool is_named(const core::Snapshot& snapshot, const core::ConsumerId& id) {
  const auto& named = snapshot.still_there;
  return std::find(named.begin(), named.end(), id) != named.end();
}

std::string text(const core::ConsumerId& id) { return id.kind + " " + id.name; }

bool gone_unseen(const core::ConsumerState& state) { return state.gone_by == core::GoneBy::kBlind; }

// The agent never learnt its Services, and says so.
bool services_unseen(const core::Snapshot& snapshot) {
  const auto& all = snapshot.consumers;
  return std::any_of(all.begin(), all.end(), [&](const core::ConsumerState& state) {
    return state.id.kind == "services" && (gone_unseen(state) || is_named(snapshot, state.id));
  });
}

}  // namespace

void Checker::expect(bool holds, const char* invariant, const std::string& what) {
  if (!holds) violations_.push_back(std::string(invariant) + ": " + what);
}

void Checker::on_request(net::Instant now) {
  requests_.push_back(now);
  while (requests_.front() < now - seconds(10)) requests_.pop_front();
  if (requests_.size() == kRequestsMax + 1) {
    expect(false, "S5", std::to_string(requests_.size()) + " requests within ten seconds");
  }
}

// Only a stop that ended without proof may be followed by another.
void Checker::on_snapshot(const core::Snapshot& snapshot) {
  const bool forward = snapshot.phase >= phase_;
  const bool anew = phase_ == core::Phase::kReleased && ended_unproven_;
  expect(
      forward || anew, "S4",
      std::string(core::to_string(phase_)) + " -> " + std::string(core::to_string(snapshot.phase)));
  phase_ = snapshot.phase;
  ended_unproven_ = snapshot.phase == core::Phase::kReleased && !snapshot.deadline_proven;
}

void Checker::on_release(const std::string& answer, const core::Snapshot& snapshot,
                         const Life& life, const Stop& stop, net::Instant now) {
  check_in_time(snapshot, life, stop, now);
  if (answer == "container-restart") {
    check_restart(life);
    return;
  }
  if (!snapshot.hold_end) {
    check_unreleased(snapshot, life, stop, now);
    return;
  }
  expect(*snapshot.hold_end != core::HoldEnd::kPodLives, "S1", "the pod does not live on");
  if (*snapshot.hold_end == core::HoldEnd::kAllGone) {
    check_all_gone(snapshot, life, stop);
  } else {
    check_limit(snapshot, life, stop);
    check_named(snapshot, life, stop);
  }
  check_liveness_after_healing(snapshot, life, stop);
}

// What looks like the restart of one container is answered at once: where neither the Pod nor
// anything else that may be read shows the stop.
void Checker::check_restart(const Life& life) {
  const bool unseen = !shows_in_pod(scenario_.stop) && !scenario_.node_readable;
  expect(unseen && life.read_pod && !life.read_ending, "S1", "taken for a container restart");
}

void Checker::on_hooks_left(const core::Snapshot& snapshot, std::size_t left) {
  expect(snapshot.phase != core::Phase::kReleased || left == 0, "S2",
         std::to_string(left) + " more hooks are not answered");
}

void Checker::check_all_gone(const core::Snapshot& snapshot, const Life& life, const Stop& stop) {
  for (const auto& [id, consumer] : truth_.consumers()) {
    if (consumer.ignored()) continue;
    const auto* state = find(snapshot, id);
    if (state == nullptr) {
      expect(may_be_unheard_of(consumer, snapshot, life, stop), "S1",
             text(id) + " was never heard of");
      continue;
    }
    if (gone_unseen(*state)) {
      expect(*snapshot.released >= *snapshot.hold_started + *consumer.asked.blind, "S1",
             text(id) + " was given up too early");
      continue;
    }
    expect(state->gone_by == core::GoneBy::kSettle, "S1", text(id) + " is gone by no evidence");
    check_settled(consumer, *state, *snapshot.released);
  }
}

void Checker::check_settled(const Consumer& consumer, const core::ConsumerState& state,
                            net::Instant released) {
  const bool withdrawn =
      consumer.presence == Presence::kWithdrawn || may_be_unknown(consumer, state, released);
  expect(withdrawn && consumer.withdrawn_at, "S1",
         text(state.id) + " counts as gone and is " + to_string(consumer.presence));
  if (!consumer.withdrawn_at) return;
  const bool returned_unheard =
      consumer.withdrawn_before && may_be_unknown(consumer, state, released);
  const auto since = returned_unheard ? consumer.withdrawn_before : consumer.withdrawn_at;
  const auto stood = released - *since;
  expect(stood >= *consumer.asked.settle, "S1",
         text(state.id) + " settled for " + text(stood) + " only");
}

// Its Service could not be learnt; or let go of the pod before it could be, when only its slices
// know of it; or came while holding, when the news is on its way, or cannot come.
bool Checker::may_be_unheard_of(const Consumer& consumer, const core::Snapshot& snapshot,
                                const Life& life, const Stop& stop) const {
  if (services_unseen(snapshot)) return true;
  if (!consumer.selects) {
    return consumer.presence == Presence::kWithdrawn || !life.read_services ||
           consumer.deselected_at <= *life.read_services;
  }
  if (consumer.appeared_at < stop.began) return false;
  const auto sound = sound_since(stop);
  return !sound || *snapshot.released <= std::max(consumer.appeared_at, *sound) + on_its_way();
}

// Since when nothing has kept the agent from hearing what it watches.
std::optional<net::Instant> Checker::sound_since(const Stop& stop) const {
  if (stop.healed) return *stop.healed + kRecovery;
  const Scenario& s = scenario_;
  const bool troubled = s.faults.any() > 0 || s.down_from || s.down_again_from || s.impostor ||
                        s.token_lost_at || s.services_forbidden || !s.rotations_at.empty() ||
                        !s.compactions_at.empty() || !s.closures_at.empty();
  return troubled ? std::nullopt : std::optional(net::Instant{});
}

// A consumer that came back: the news is on its way, or cannot come. Losing sight after a seen
// withdrawal keeps the withdrawal (DESIGN 2), and a stalled watch looks like a quiet one.
bool Checker::may_be_unknown(const Consumer& consumer, const core::ConsumerState& state,
                             net::Instant now) const {
  return consumer.withdrawn_at &&
         (state.presence == core::Presence::kBlind || scenario_.faults.stalled > 0 ||
          now - consumer.returned_at <= on_its_way());
}

void Checker::check_limit(const core::Snapshot& snapshot, const Life& life, const Stop& stop) {
  const auto held = *snapshot.released - *snapshot.hold_started;
  switch (*snapshot.hold_end) {
    case core::HoldEnd::kHoldMax:
      check_hold_max(snapshot, held);
      break;
    case core::HoldEnd::kUnproven:
      expect(!life.read_deletion, "S1", "unproven, although the deletion was read");
      expect(held >= *truth_.pod().blind, "S1", "unproven after " + text(held));
      break;
    case core::HoldEnd::kForced:
      expect(stop.operator_released, "S1", "nobody forced it");
      break;
    case core::HoldEnd::kDeadline:
      if (snapshot.deadline_proven && stop.deadline) check_deadline(snapshot, stop);
      break;
    case core::HoldEnd::kAllGone:
    case core::HoldEnd::kPodLives:
      break;
  }
}

// A hold that began before the stop, by a SIGTERM that nobody could explain, has no more time
// than one that did not.
void Checker::check_deadline(const core::Snapshot& snapshot, const Stop& stop) {
  const auto grace = *stop.deadline - stop.began;
  const auto deadline = std::min(*stop.deadline, *snapshot.hold_started + grace);
  expect(*snapshot.released >= deadline - reserve(grace) - kGrain - kGrain, "S1",
         "by the deadline, " + text(*stop.deadline - *snapshot.released) + " before it");
}

// Each that was not gone had been waited for long enough.
void Checker::check_hold_max(const core::Snapshot& snapshot, net::Duration held) {
  const auto check = [&](const std::optional<Millis>& hold_max) {
    expect(hold_max && held >= *hold_max, "S1", "hold.max after " + text(held));
  };
  if (services_unseen(snapshot)) check(truth_.pod().hold_max);
  for (const auto& [id, consumer] : truth_.consumers()) {
    const auto* state = find(snapshot, id);
    if (state != nullptr && !state->gone_at) check(consumer.asked.hold_max);
  }
}

// Whoever could still choose the pod is part of the outcome.
void Checker::check_named(const core::Snapshot& snapshot, const Life& life, const Stop& stop) {
  for (const auto& [id, consumer] : truth_.consumers()) {
    if (consumer.presence == Presence::kWithdrawn || consumer.ignored()) continue;
    const auto* state = find(snapshot, id);
    const bool named =
        state == nullptr
            ? may_be_unheard_of(consumer, snapshot, life, stop)
            : gone_unseen(*state) || is_named(snapshot, id) ||
                  (state->gone_at && may_be_unknown(consumer, *state, *snapshot.released));
    expect(named, "S1",
           text(id) + " is " + to_string(consumer.presence) + " and the outcome does not name it");
  }
}

// Answered without a hold: only a caller that nobody can verify, and only when a hold would
// have ended too.
void Checker::check_unreleased(const core::Snapshot& snapshot, const Life& life, const Stop& stop,
                               net::Instant now) {
  if (stop.operator_released) return;
  net::Duration bound = *truth_.pod().blind;
  if (life.read_pod) bound = std::min(bound, scenario_.grace - reserve(scenario_.grace));
  for (const auto& hold_max : {hold_max(), truth_.pod().hold_max}) {
    if (hold_max) bound = std::min<net::Duration>(bound, *hold_max);
  }
  const bool unverified = scenario_.hook == HookKind::kKubelet || bound < kPatience;
  const auto waited = now - life.hook_at.value_or(now);
  const bool proven = life.read_ending || life.read_shutdown;
  expect(snapshot.phase == core::Phase::kServing && unverified && !proven &&
             waited + scenario_.margin >= bound,
         "S1", "answered without a hold after " + text(waited));
}

// A hook that comes after the release is answered at once.
void Checker::check_in_time(const core::Snapshot& snapshot, const Life& life, const Stop& stop,
                            net::Instant now) {
  const net::Instant latest = latest_answer(life, stop);
  const bool was_over =
      snapshot.released && *snapshot.released <= latest && now <= life.called_at + kInstantly;
  expect(was_over || now <= latest, "S2", "answered " + text(now - latest) + " too late");
}

void Checker::on_kill(const Life& life, const Stop& stop, net::Instant now) {
  if (!life.hook_at) return;
  const net::Instant latest = latest_answer(life, stop);
  expect(now <= latest, "S2", "never answered; due " + text(now - latest) + " ago");
}

// What an agent can know: the deadline it has read, to the grain of its notation, and one that
// the watch on its Pod has shown it; else the grace period, from a trusted hook or from when it
// has learnt what a hook of the network is about; else nothing but `blind`. Its own SIGTERM is
// trusted, and starts a hold where a hook of the network cannot.
net::Instant Checker::latest_answer(const Life& life, const Stop& stop) const {
  const bool trusted = scenario_.hook != HookKind::kKubelet;
  const net::Instant called = trusted ? *life.hook_at : std::max(*life.hook_at, life.sigterm_at);
  if (!life.read_pod) return called + scenario_.blind + kInstantly;
  net::Instant heard = std::max(called, life.told_at);
  net::Instant by = (trusted ? *life.hook_at : heard) + scenario_.grace;
  if (life.read_deletion) {
    by = std::min(by, life.deadline + kGrain);
    const auto known_at = deadline_known_at(stop);
    if (known_at && *stop.deadline < life.deadline) {
      by = std::min(by, *stop.deadline + kGrain);
      heard = std::max(heard, *known_at);
    }
  }
  return std::max(by - scenario_.margin, heard) + kInstantly;
}

// When the watch on the Pod, and the reading that follows it, have told the deadline.
std::optional<net::Instant> Checker::deadline_known_at(const Stop& stop) const {
  const auto sound = sound_since(stop);
  if (!stop.deadline || !sound || scenario_.pod_watch_forbidden) return std::nullopt;
  return std::max({stop.deadline_at, *sound, stop.last_restart + kRecovery}) + kReadingInterval +
         on_its_way() + kPropagation;
}

void Checker::check_liveness_after_healing(const core::Snapshot& snapshot, const Life& life,
                                           const Stop& stop) {
  const auto withdrawn = truth_.withdrawn_at();
  // Without its Pod, which was deleted by force, an agent started anew knows nobody.
  const bool is_lost = life.read_gone && !life.read_pod;
  if (!stop.healed || !withdrawn || !stop.deadline || is_lost) return;
  const auto due =
      std::max(settled_by(*withdrawn, stop), *snapshot.hold_started + hold_min()) + kPropagation;
  auto limit = *stop.deadline - reserve(*stop.deadline - stop.began) - kGrain;
  if (const auto most = hold_max()) limit = std::min(limit, *snapshot.hold_started + *most);
  if (due >= limit) return;
  expect(*snapshot.released <= due, "S3",
         "released " + text(*snapshot.released - *withdrawn) + " after the last withdrawal");
}

// When the last settle is over, if the agent learns at once whatever it can.
net::Instant Checker::settled_by(net::Instant withdrawn, const Stop& stop) const {
  const auto sound = std::max(*stop.healed, stop.last_restart) + kRecovery;
  auto last_news = std::max({withdrawn, sound, *stop.hook_at + seconds(2)});
  net::Instant last_asked{};
  Millis settle{};
  for (const auto& [id, consumer] : truth_.consumers()) {
    last_asked = std::max(last_asked, consumer.asked_at);
    if (consumer.ignored()) continue;
    settle = std::max(settle, *consumer.asked.settle);
    last_news = std::max(last_news, consumer.listed_at);
    if (consumer.appeared_at < stop.began) continue;
    last_news = std::max(last_news, std::max(consumer.appeared_at, sound) + kLearning);
  }
  return std::max(last_news + settle, last_asked);
}

void Checker::on_liveness(std::optional<net::Duration> waited) {
  // A local caller is trusted to mean a stop until the Pod object says otherwise.
  const auto bound = scenario_.blind + seconds(1) + kInstantly;
  expect(waited && *waited <= bound, "S2",
         "the hook of a living pod waited " + (waited ? text(*waited) : "for ever"));
}

void Checker::on_exit(bool exited) { expect(exited, "S2", "the agent stays after the release"); }

void Checker::on_exit_with(std::size_t waiting) {
  expect(waiting == 0, "S1", "the agent leaves " + std::to_string(waiting) + " hooks alone");
}

std::vector<config::Annotations> Checker::asked() const {
  std::vector<config::Annotations> all;
  for (const auto& [id, consumer] : truth_.consumers()) {
    if (!consumer.ignored()) all.push_back(consumer.asked);
  }
  if (all.empty()) all.push_back(truth_.pod());
  return all;
}

Millis Checker::hold_min() const {
  Millis longest{};
  for (const auto& asked : asked()) longest = std::max(longest, *asked.hold_min);
  return longest;
}

std::optional<Millis> Checker::hold_max() const {
  Millis longest{};
  for (const auto& asked : asked()) {
    if (!asked.hold_max) return std::nullopt;
    longest = std::max(longest, *asked.hold_max);
  }
  return longest;
}

net::Duration Checker::reserve(net::Duration grace) const {
  const auto usual = std::min<net::Duration>(seconds(10), grace / 3);
  net::Duration longest = scenario_.margin;
  for (const auto& asked : asked()) {
    longest = std::max(longest, asked.reserve ? net::Duration(*asked.reserve) : usual);
  }
  return longest;
}

}  // namespace lastcall::sim
