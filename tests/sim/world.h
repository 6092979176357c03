// One seed's world: a cluster, a network, a kubelet, and the real agent among them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/cli/agent.h"
#include "tests/sim/checker.h"
#include "tests/sim/journal.h"
#include "tests/sim/scenario.h"
#include "tests/sim/sim_network.h"
#include "tests/sim/sim_server.h"
#include "tests/sim/truth.h"

namespace lastcall::sim {

// What came out, in times since the stop began.
struct Outcome {
  // How the hook came to its end: a HoldEnd, or "blind" (all gone, one of them unseen),
  // "unverified", "container-restart" (taken for one), "hook-lost" (its connection broke),
  // "killed" (never answered).
  std::string how;
  int hooks_answered = 0;
  std::optional<net::Duration> released;
  std::optional<net::Duration> withdrawn;  // the last true withdrawal, if before the release
  std::optional<net::Duration> liveness_waited;
  std::optional<core::Snapshot> snapshot;  // at the release
  int requests = 0;
  std::vector<std::string> violations;
  std::vector<std::string> journal;
};

// Things to break on purpose, to see that the checker notices.
struct Sabotage {
  // Wraps the network as the agent sees it.
  std::function<std::unique_ptr<net::HttpClient>(net::HttpClient&, net::Loop&)> wrap_network{};
  std::function<void(std::string&)> tamper{};
  std::function<void(SimServer&)> servers{};
};

class World final : private report::LogSink {
 public:
  World(Scenario scenario, std::uint64_t seed, bool recording, Sabotage sabotage = {});
  ~World() override;
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // To its end; at most once.
  [[nodiscard]] Outcome run();

 private:
  // One process of the agent.
  struct Process {
    SimServer pod_server;
    SimServer local_server;
    Life life;
    std::unique_ptr<agent::Agent> agent;
  };

  void write(report::Level level, std::string_view line) override;

  void build_cluster();
  void schedule();
  void schedule_troubles();
  void at(Millis when, std::function<void()> what);
  void trouble_at(Millis when, std::function<void()> what);
  void troubles_at(const std::vector<Millis>& instants, const std::function<void()>& what);

  void start_agent();
  void restart_agent();
  void break_down();
  void rotate_token();
  void lose_token();
  void heal();
  void limit_role();

  void begin_stop();
  void end_pod();
  void note_deadline();
  void shorten();
  void stop_containers();
  void run_hooks();
  void restart_kubelet();
  void kill();

  void send_liveness_hook();
  void send_hook();
  void forget_unproven_stop();
  void on_hook_answered(const std::optional<net::ServerResponse>& response);
  void on_pod_reading(const PodReading& reading);
  void on_node_reading(const NodeReading& reading);
  void send_sigterm();
  void on_exit();
  void end_agent();
  void finish(std::string how);

  void after_step();
  void watch_sidecar();
  void settle_release();
  [[nodiscard]] bool has_begun() const { return loop_.now() >= start_ + scenario_.stop_at; }
  [[nodiscard]] const fakes::Pod* own_pod();
  [[nodiscard]] std::string classify(const core::Snapshot& snapshot) const;
  [[nodiscard]] net::Instant true_instant(net::WallTime time) const;
  [[nodiscard]] config::Settings settings() const;

  Scenario scenario_;
  Sabotage sabotage_;
  fakes::RandomSource random_;
  fakes::SimLoop loop_;
  net::Instant start_;
  Journal journal_;
  fakes::FakeApiServer server_;
  SimNetwork network_;
  std::unique_ptr<net::HttpClient> wrapped_;
  Truth truth_;
  Checker checker_;
  Stop stop_;
  std::optional<net::Instant> kill_at_;
  std::unique_ptr<net::Timer> kill_timer_;
  int tokens_ = 0;

  std::unique_ptr<Process> process_;
  bool hook_waits_ = false;  // the stop's hooks have been sent and none has been answered
  bool just_answered_ = false;
  std::string answer_;  // the first
  bool exited_ = false;
  bool over_ = false;
  Outcome outcome_;
};

}  // namespace lastcall::sim
