#include "tests/sim/scenario.h"

#include "tests/fakes/random_source.h"

namespace lastcall::sim {
namespace {

using fakes::RandomSource;

template <class T>
T pick(RandomSource& random, std::initializer_list<T> choices) {
  return *(choices.begin() + random.below(choices.size()));
}

Millis millis(RandomSource& random, int least, int most) {
  return Millis(least +
                static_cast<int>(random.below(static_cast<std::uint64_t>(most - least) + 1)));
}

void draw_pod(RandomSource& random, Scenario& s) {
  s.grace = std::chrono::seconds(pick(random, {8, 20, 30, 30, 60, 90}));
  s.settle = Millis(pick(random, {500, 1'000, 3'000, 3'000, 6'000}));
  s.blind = Millis(pick(random, {5'000, 15'000, 25'000, 25'000}));
  if (random.chance(0.2)) s.reserve = millis(random, 0, 12'000);
  if (random.chance(0.1)) s.hold_max = millis(random, 1'000, 20'000);
  s.ignore_last_resort = random.chance(0.2);
  s.hook = random.chance(0.5) ? HookKind::kLocal : HookKind::kKubelet;
}

void draw_cluster(RandomSource& random, Scenario& s) {
  s.others.clear();
  const auto services = 1 + random.below(3);
  for (std::uint64_t i = 0; i < services; ++i) {
    s.others.push_back(static_cast<int>(random.below(4)));
  }
  s.dual_stack = random.chance(0.15);
  s.endpoints_max = pick<std::size_t>(random, {1, 2, 100});
  s.duplicated = random.chance(0.15);
  s.controller_delay =
      random.chance(0.7) ? millis(random, 5, 3'000) : millis(random, 3'000, 60'000);
  if (random.chance(0.3)) s.write_gap = millis(random, 1, 1'500);
  s.services_forbidden = random.chance(0.02);
  s.slices_forbidden = random.chance(0.02);
}

void draw_events(RandomSource& random, Scenario& s) {
  s.stop_at = millis(random, 500, 6'000);
  if (random.chance(0.15)) {
    s.liveness_at = s.stop_at;
    s.stop_at += Millis(40'000);
  }
  s.hook_delay = millis(random, 5, 900);
  if (random.chance(0.1)) s.stop = random.chance(0.5) ? StopKind::kShutdown : StopKind::kEviction;
  const auto grace = static_cast<int>(Millis(s.grace).count());
  const auto during_stop = [&] { return s.stop_at + millis(random, 0, grace); };
  if (random.chance(0.1)) {
    s.shortening = {
        millis(random, 500, grace / 2),
        std::chrono::seconds(1 + random.below(static_cast<std::uint64_t>(grace) / 2'000))};
  }
  if (random.chance(0.1)) s.others_fail_at = during_stop();
  if (random.chance(0.5)) s.replacement_at = during_stop();
  // A gap that outlasts the settle is a withdrawal as far as anybody can tell.
  s.move_gap = millis(random, 1, 200);
  for (auto moves = random.chance(0.2) ? 1 + random.below(3) : 0; moves > 0; --moves) {
    s.moves_at.push_back(s.stop_at + millis(random, -500, grace / 3));
  }
  if (random.chance(0.05)) s.operator_release_at = during_stop();
}

void draw_faults(RandomSource& random, Scenario& s) {
  const double level = pick(random, {0.0, 0.02, 0.1, 0.3});
  s.faults.latency_most =
      pick(random, {std::chrono::microseconds(2'000), std::chrono::microseconds(50'000),
                    std::chrono::microseconds(800'000)});
  s.faults.refused = s.faults.reset = s.faults.status = s.faults.garbage = level / 2;
  s.faults.stalled = s.faults.lost = level / 8;
  s.faults.split = pick(random, {0.0, 0.3, 0.9});
}

void draw_troubles(RandomSource& random, Scenario& s) {
  const auto length = static_cast<int>((s.stop_at + Millis(s.grace)).count());
  const auto anytime = [&] { return millis(random, 0, length); };
  if (random.chance(0.12)) {
    s.down_from = anytime();
    if (random.chance(0.6)) s.down_until = *s.down_from + millis(random, 500, 30'000);
  }
  if (random.chance(0.03)) s.down_from = Millis(0);
  const auto some = [&](double chance, std::vector<Millis>& instants) {
    while (random.chance(chance)) instants.push_back(anytime());
  };
  some(0.25, s.restarts_at);
  some(0.15, s.rotations_at);
  some(0.2, s.compactions_at);
  some(0.3, s.closures_at);
  some(0.2, s.wall_jumps_at);
  if (random.chance(0.5)) s.healed_at = millis(random, 0, length);
}

// What follows was added later: it is drawn last, so that the rest of each seed stays as it was.

void draw_traits(RandomSource& random, Scenario& s) {
  if (!random.chance(0.35)) return;
  bool any_local = false;
  for (std::size_t i = 0; i < s.others.size(); ++i) {
    ServiceTraits& traits = s.traits.emplace_back();
    traits.headless = random.chance(0.2);
    traits.publish_not_ready = random.chance(0.15);
    traits.local_only = !traits.headless && random.chance(0.2);
    any_local |= traits.local_only;
    if (random.chance(0.3)) traits.settle = Millis(pick(random, {500, 2'000, 5'000, 10'000}));
  }
  s.other_node = any_local && random.chance(0.5);
}

void draw_legacy(RandomSource& random, Scenario& s) {
  if (!random.chance(0.15)) return;
  auto& legacy = s.legacy.emplace();
  legacy.controller_delay = millis(random, 5, 6'000);
  legacy.endpoints_max = pick<std::size_t>(random, {1, 1'000, 1'000, 1'000});
  if (random.chance(0.2)) legacy.off_at = millis(random, 0, static_cast<int>(s.stop_at.count()));
}

void draw_service_changes(RandomSource& random, Scenario& s) {
  using Kind = ServiceChange::Kind;
  while (random.chance(0.15)) {
    ServiceChange change;
    change.at = s.stop_at + millis(random, -500, static_cast<int>(Millis(s.grace).count()) / 2);
    change.kind = pick(random, {Kind::kCreated, Kind::kCreated, Kind::kCreatedAlone, Kind::kDeleted,
                                Kind::kRelabelled});
    change.service = random.below(s.others.size());
    s.service_changes.push_back(change);
  }
  if (!random.chance(0.05)) return;
  auto& by_hand = s.by_hand.emplace();
  if (random.chance(0.5)) by_hand.until = s.stop_at + millis(random, -500, 20'000);
}

void draw_triggers(RandomSource& random, Scenario& s) {
  if (s.stop == StopKind::kDeletion && random.chance(0.15)) {
    s.stop = pick(random, {StopKind::kApiEviction, StopKind::kForceDeletion,
                           StopKind::kNodeShutdown, StopKind::kNodePressure});
  }
  s.node_readable = random.chance(0.7);
  s.watch_pod = random.chance(0.15);
  s.pod_watch_forbidden = random.chance(0.03);
  if (s.shortening && random.chance(0.5)) s.shortening->hook_again = false;
  if (s.shortening && random.chance(0.1)) s.shortening->grace = std::chrono::seconds(0);
}

void draw_hooks(RandomSource& random, Scenario& s) {
  const auto until = static_cast<int>((s.stop_at + Millis(s.grace)).count());
  if (random.chance(0.2)) s.containers = 2 + static_cast<int>(random.below(2));
  if (random.chance(0.05)) s.hook = HookKind::kNone;
  if (random.chance(0.05)) s.kubelet_restart_at = s.stop_at + millis(random, 0, 20'000);
  while (random.chance(0.08)) s.sigterms_at.push_back(millis(random, 0, until));
  if (s.hook == HookKind::kNone) s.liveness_at.reset();
}

}  // namespace

const char* to_string(StopKind stop) {
  switch (stop) {
    case StopKind::kDeletion:
      return "deletion";
    case StopKind::kForceDeletion:
      return "deletion by force";
    case StopKind::kApiEviction:
      return "eviction by the API";
    case StopKind::kShutdown:
      return "shutdown, published";
    case StopKind::kEviction:
      return "eviction, published";
    case StopKind::kNodeShutdown:
      return "shutdown of the node";
    case StopKind::kNodePressure:
      return "eviction under pressure";
  }
  return "?";
}

std::string service_name(std::size_t index) { return "svc-" + std::to_string(index); }

Scenario draw_scenario(std::uint64_t seed) {
  RandomSource random(seed);
  Scenario scenario;
  draw_pod(random, scenario);
  draw_cluster(random, scenario);
  draw_events(random, scenario);
  draw_faults(random, scenario);
  draw_troubles(random, scenario);
  draw_traits(random, scenario);
  draw_legacy(random, scenario);
  draw_service_changes(random, scenario);
  scenario.host_network = random.chance(0.08);
  draw_triggers(random, scenario);
  draw_hooks(random, scenario);
  return scenario;
}

}  // namespace lastcall::sim
