// The invariants of a stop (DESIGN 2, S1 to S6), checked against the truth.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "agent/core/drain.h"
#include "tests/sim/scenario.h"
#include "tests/sim/truth.h"

namespace lastcall::sim {

// What is known of one life of the agent's process.
struct Life {
  std::optional<net::Instant> hook_at;        // when the stop's hook first reached it
  net::Instant called_at{};                   // and when one last did
  net::Instant sigterm_at{};                  // when it was first told to end, in the stop
  bool read_pod = false;                      // it has been given the Pod object,
  bool read_ending = false;                   // in which something is ending the pod:
  bool read_deletion = false;                 // a deletionTimestamp,
  net::Instant deadline{};                    // which is this, in true time
  bool read_gone = false;                     // that it is no more
  bool read_shutdown = false;                 // the Node shuts down, as it has been given that
  net::Instant told_at{};                     // when it last heard anything new of them
  std::optional<net::Instant> read_services;  // it knows them as they were then, or later
};

// What is known of the stop as a whole.
struct Stop {
  net::Instant began{};                  // the DELETE, or what took its place
  std::optional<net::Instant> hook_at;   // when the kubelet first ran the hook
  std::optional<net::Instant> deadline;  // the true deletionTimestamp
  net::Instant deadline_at{};            // since when it is this
  net::Instant last_restart{};
  std::optional<net::Instant> healed;
  bool operator_released = false;
};

class Checker {
 public:
  // How many requests an agent may send in any ten seconds. Five loops retry on their own (own pod
  // and its watch, Services, slices, Endpoints), each after 0.1..5 s of jittered backoff: at most 9
  // attempts in the first ten seconds from a fresh backoff. An attempt is two requests when a token
  // is refused. Events that renew a backoff (the stop itself, a proven watch that ends, a hook that
  // comes back, a restart of the agent) each add a few.
  static constexpr std::size_t kRequestsMax = 80;

  Checker(const Scenario& scenario, const Truth& truth) : scenario_(scenario), truth_(truth) {}

  void on_request(net::Instant now);  // S5
  void on_life() { phase_ = core::Phase::kServing; }
  void on_snapshot(const core::Snapshot& snapshot);  // S4
  // The stop's hook was answered, in this word: S1, S2, S3, S6.
  void on_release(const std::string& answer, const core::Snapshot& snapshot, const Life& life,
                  const Stop& stop, net::Instant now);
  // And so many others were not.
  void on_hooks_left(const core::Snapshot& snapshot, std::size_t left);
  // The kubelet has lost patience before the hook was answered: S2.
  void on_kill(const Life& life, const Stop& stop, net::Instant now);
  // A container of a living pod restarted, and its hook waited so long; nullopt: until the end.
  void on_liveness(std::optional<net::Duration> waited);
  // The agent was told to end after the release, and has, or has not.
  void on_exit(bool exited);
  // The agent has ended while so many hooks were waiting.
  void on_exit_with(std::size_t waiting);

  [[nodiscard]] const std::vector<std::string>& violations() const { return violations_; }

 private:
  void check_all_gone(const core::Snapshot& snapshot, const Life& life, const Stop& stop);
  void check_settled(const Consumer& consumer, const core::ConsumerState& state,
                     net::Instant released);
  void check_deadline(const core::Snapshot& snapshot, const Stop& stop);
  void check_hold_max(const core::Snapshot& snapshot, net::Duration held);
  void check_limit(const core::Snapshot& snapshot, const Life& life, const Stop& stop);
  void check_named(const core::Snapshot& snapshot, const Life& life, const Stop& stop);
  void check_unreleased(const core::Snapshot& snapshot, const Life& life, const Stop& stop,
                        net::Instant now);
  void check_in_time(const core::Snapshot& snapshot, const Life& life, const Stop& stop,
                     net::Instant now);
  void check_restart(const Life& life);
  void check_liveness_after_healing(const core::Snapshot& snapshot, const Life& life,
                                    const Stop& stop);
  void expect(bool holds, const char* invariant, const std::string& what);

  [[nodiscard]] bool may_be_unknown(const Consumer& consumer, const core::ConsumerState& state,
                                    net::Instant now) const;
  [[nodiscard]] bool may_be_unheard_of(const Consumer& consumer, const core::Snapshot& snapshot,
                                       const Life& life, const Stop& stop) const;
  [[nodiscard]] std::optional<net::Instant> sound_since(const Stop& stop) const;
  [[nodiscard]] net::Instant settled_by(net::Instant withdrawn, const Stop& stop) const;
  [[nodiscard]] net::Duration on_its_way() const { return 4 * scenario_.faults.latency_most; }
  // What those that are waited for ask for at most; of a pod without any: what it says itself. Of
  // a limit nullopt: somebody sets none.
  [[nodiscard]] std::vector<config::Annotations> asked() const;
  [[nodiscard]] Millis hold_min() const;
  [[nodiscard]] std::optional<Millis> hold_max() const;
  [[nodiscard]] net::Duration reserve(net::Duration grace) const;
  [[nodiscard]] net::Instant latest_answer(const Life& life, const Stop& stop) const;
  [[nodiscard]] std::optional<net::Instant> deadline_known_at(const Stop& stop) const;

  const Scenario& scenario_;
  const Truth& truth_;
  core::Phase phase_ = core::Phase::kServing;
  bool ended_unproven_ = false;
  std::deque<net::Instant> requests_;
  std::vector<std::string> violations_;
};

}  // namespace lastcall::sim
