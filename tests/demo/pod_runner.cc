#include "tests/demo/pod_runner.h"

#include <csignal>
#include <utility>

namespace lastcall::demo {
namespace {

// What is left for SIGTERM when a preStop has used up the grace period.
constexpr seconds kLastGrace{2};

std::string log_path(const std::string& directory, const std::string& what,
                     const std::string& pod) {
  return directory + "/" + what + "-" + pod + ".log";
}

}  // namespace

std::string agent_log_path(const std::string& directory, const std::string& pod) {
  return log_path(directory, "agent", pod);
}

PodRunner::PodRunner(const Stage& stage, PodPlan plan, Events events)
    : stage_(stage),
      plan_(std::move(plan)),
      events_(std::move(events)),
      probes_left_(has_agent() ? 2 : 1),
      nap_(stage.loop.make_timer([this] { end_pre_stop(); })),
      grace_over_(stage.loop.make_timer([this] { on_grace_over(); })) {
  start_application();
  if (has_agent()) start_agent();
}

// ---- Running --------------------------------------------------------------------------------

void PodRunner::start_application() {
  const Program program{
      .arguments = {stage_.binaries.demo, "replica", "--listen",
                    plan_.address + ":" + std::to_string(stage_.pod_port), "--start-after-ms",
                    std::to_string(plan_.start_time.count()), "--seed", std::to_string(plan_.seed)},
      .environment = {},
      .log = log_path(stage_.directory, "app", plan_.name)};
  application_ = stage_.processes.start(program, [this](int) { on_application_exit(); });
  probe(application_probe_, stage_.pod_port, "/");
}

void PodRunner::start_agent() {
  const std::string port = std::to_string(stage_.agent_port);
  const Program program{
      .arguments = {stage_.binaries.agent, "agent"},
      .environment = {"LASTCALL_POD_NAME=" + plan_.name,
                      "LASTCALL_POD_NAMESPACE=" + plan_.namespace_name,
                      "LASTCALL_POD_UID=" + plan_.uid, "LASTCALL_POD_IPS=" + plan_.address,
                      "LASTCALL_POD_NODE=" + plan_.node,
                      "LASTCALL_KUBERNETES_SERVER=" + plan_.api_url,
                      "LASTCALL_KUBERNETES_TOKEN_FILE=" + plan_.token_file,
                      "LASTCALL_LISTEN_POD=" + plan_.address + ":" + port,
                      "LASTCALL_LISTEN_LOCAL=" + agent_socket()},
      .log = agent_log_path(stage_.directory, plan_.name)};
  agent_ = stage_.processes.start(program, [this](int) { on_agent_exit(); });
  probe(agent_probe_, stage_.agent_port, "/readyz");
}

std::string PodRunner::agent_socket() const {
  return "unix:" + stage_.directory + "/agent-" + plan_.name + ".sock";
}

void PodRunner::probe(std::unique_ptr<Probe>& probe, std::uint16_t port, const std::string& path) {
  const std::string url = "http://" + plan_.address + ":" + std::to_string(port) + path;
  probe = std::make_unique<Probe>(stage_.loop, stage_.http, url, [this] { on_probed(); });
}

void PodRunner::on_probed() {
  if (--probes_left_ == 0) events_.on_ready();
}

// ---- Stopping -------------------------------------------------------------------------------

void PodRunner::stop(net::Duration grace) {
  if (step_ != Step::kRunning) return;
  step_ = Step::kPreStop;
  grace_over_->arm(stage_.loop.now() + grace);
  start_pre_stop();
}

void PodRunner::start_pre_stop() {
  switch (plan_.strategy.pre_stop) {
    case PreStop::kNone:
      return end_pre_stop();
    case PreStop::kSleep:
      return nap_->arm(stage_.loop.now() + plan_.strategy.sleep);
    case PreStop::kLastcall:
      hook_ = stage_.processes.start(
          {.arguments = {stage_.binaries.hook, "wait", "--agent", agent_socket()},
           .environment = {},
           .log = log_path(stage_.directory, "hook", plan_.name)},
          [this](int) { end_pre_stop(); });
  }
}

void PodRunner::end_pre_stop() {
  step_ = Step::kApplication;
  application_->signal(SIGTERM);
}

void PodRunner::on_application_exit() {
  if (step_ != Step::kApplication) return events_.on_trouble(plan_.name + ": the application died");
  events_.on_stopped();
  step_ = Step::kSidecar;
  if (!has_agent()) {
    step_ = Step::kFinished;
    return events_.on_finished();
  }
  agent_->signal(SIGTERM);
}

void PodRunner::on_agent_exit() {
  if (step_ != Step::kSidecar) return events_.on_trouble(plan_.name + ": the agent died");
  step_ = Step::kFinished;
  events_.on_finished();
}

void PodRunner::on_grace_over() {
  switch (step_) {
    case Step::kPreStop:
      nap_->disarm();
      hook_.reset();
      end_pre_stop();
      break;
    case Step::kApplication:
      application_->signal(SIGKILL);
      break;
    case Step::kSidecar:
      agent_->signal(SIGKILL);
      break;
    case Step::kRunning:
    case Step::kFinished:
      return;
  }
  grace_over_->arm(stage_.loop.now() + kLastGrace);
}

}  // namespace lastcall::demo
