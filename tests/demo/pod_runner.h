// The processes of one pod, from their start to the end of their stop, as a kubelet runs them.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "net/loop.h"
#include "tests/demo/probe.h"
#include "tests/demo/processes.h"
#include "tests/demo/scene.h"
#include "tests/demo/stage.h"

namespace lastcall::demo {

struct PodPlan {
  std::string name;
  std::string uid;
  std::string namespace_name;
  std::string node;
  std::string address;  // "127.0.1.2"
  std::string api_url;
  std::string token_file;
  Strategy strategy;
  milliseconds start_time{0};
  std::uint64_t seed = 0;
};

// Where a pod's agent logs.
[[nodiscard]] std::string agent_log_path(const std::string& directory, const std::string& pod);

class PodRunner {
 public:
  // May be called only once each, but on_trouble. The runner must not be destroyed in them.
  struct Events {
    std::function<void()> on_ready;     // every container answers its probe
    std::function<void()> on_stopped;   // the application's process has gone, as asked
    std::function<void()> on_finished;  // all processes have gone, as asked
    std::function<void(const std::string& why)> on_trouble;  // a process died by itself
  };

  // Starts the application, and with Strategy lastcall the agent beside it. `stage` must
  // outlive the runner. Destroying it kills what still runs.
  PodRunner(const Stage& stage, PodPlan plan, Events events);

  // preStop, then SIGTERM to the application, then to the agent; a preStop that lasts longer
  // than `grace` is cut, and SIGKILL follows 2 s later (FACTS 1.2). At most once.
  void stop(net::Duration grace);

 private:
  // What is awaited.
  enum class Step { kRunning, kPreStop, kApplication, kSidecar, kFinished };

  void start_application();
  void start_agent();
  void probe(std::unique_ptr<Probe>& probe, std::uint16_t port, const std::string& path);
  void on_probed();
  void on_application_exit();
  void on_agent_exit();
  void start_pre_stop();
  void end_pre_stop();
  void on_grace_over();
  [[nodiscard]] std::string agent_socket() const;
  [[nodiscard]] bool has_agent() const { return plan_.strategy.pre_stop == PreStop::kLastcall; }

  const Stage& stage_;
  PodPlan plan_;
  Events events_;
  Step step_ = Step::kRunning;
  int probes_left_;
  std::unique_ptr<net::Timer> nap_;
  std::unique_ptr<net::Timer> grace_over_;
  std::unique_ptr<Probe> application_probe_;
  std::unique_ptr<Probe> agent_probe_;
  std::unique_ptr<Process> application_;
  std::unique_ptr<Process> agent_;
  std::unique_ptr<Process> hook_;
};

}  // namespace lastcall::demo
