#include "tests/sim/world.h"

#include <algorithm>
#include <utility>

#include "tests/sim/cluster.h"
#include "tests/sim/token_on_disk.h"

namespace lastcall::sim {
namespace {

using std::chrono::seconds;

constexpr const char* kContainerRestart = "container-restart";
constexpr Millis kReconnect{250};  // lastcall-hook
constexpr Millis kProcessStart{300};
constexpr Millis kKubeletStart{2'000};
constexpr Millis kSigtermDelay{50};
constexpr Millis kExitPatience{1'000};

net::ServerRequest request(const char* method, const char* path) {
  return {method, path, {}, {}, "127.0.0.1"};
}

std::string token(int number) { return "token-" + std::to_string(number); }

}  // namespace

World::World(Scenario scenario, std::uint64_t seed, bool recording, Sabotage sabotage)
    : scenario_(std::move(scenario)),
      sabotage_(std::move(sabotage)),
      random_(seed ^ 0x5eedU),
      loop_(seed),
      start_(loop_.now()),
      journal_(loop_, recording),
      server_(loop_, kNamespace, [this] { return loop_.true_wall(); }),
      network_(loop_, server_, random_, journal_),
      truth_(server_, kOwnPod, settings()),
      checker_(scenario_, truth_),
      kill_timer_(loop_.make_timer([this] { kill(); })) {
  network_.set_faults(scenario_.faults);
  if (sabotage_.tamper) network_.set_tampering(sabotage_.tamper);
  if (sabotage_.wrap_network) wrapped_ = sabotage_.wrap_network(network_, loop_);
  network_.on_request([this] {
    ++outcome_.requests;
    checker_.on_request(loop_.now());
  });
  network_.on_pod_reading([this](const PodReading& reading) { on_pod_reading(reading); });
  network_.on_services_reading([this](net::Instant at) {
    if (!process_->life.read_services) process_->life.read_services = at;
  });
  network_.on_node_reading([this](const NodeReading& reading) { on_node_reading(reading); });
}

World::~World() = default;

void World::write(report::Level /*level*/, std::string_view line) { journal_.write("log", line); }

// ---- The cluster --------------------------------------------------------------------------

void World::build_cluster() {
  TokenOnDisk::instance().set(token(tokens_));
  server_.set_tokens({token(tokens_)});
  server_.slices().set_endpoints_max(scenario_.endpoints_max);
  populate(server_, scenario_);
  auto& endpoints = server_.endpoints();
  if (scenario_.legacy) {
    endpoints.set_endpoints_max(scenario_.legacy->endpoints_max);
    endpoints.resume();
  }
  if (scenario_.arrange) scenario_.arrange(server_);
  server_.slices().catch_up();
  endpoints.catch_up();
  for (std::size_t i = 0; scenario_.duplicated && i < scenario_.others.size(); ++i) {
    server_.slices().duplicate_endpoint(service_name(i), kOwnPod);
  }
  server_.slices().set_delay(scenario_.controller_delay);
  server_.slices().set_write_gap(scenario_.write_gap);
  if (scenario_.legacy) endpoints.set_delay(scenario_.legacy->controller_delay);
  limit_role();
  if (scenario_.pod_watch_forbidden) {
    server_.forbid("list", "pods");
    server_.forbid("watch", "pods");
  }
  if (scenario_.services_forbidden) server_.forbid("list", "services");
  if (scenario_.slices_forbidden) {
    server_.forbid("list", "endpointslices");
    server_.forbid("watch", "endpointslices");
  }
  truth_.update(loop_.now());
  server_.store().on_change([this](const fakes::Change&) {
    if (!truth_.update(loop_.now())) return;
    for (const auto& [id, consumer] : truth_.consumers()) {
      journal_.write("truth", id.kind, " ", id.name, " is ", to_string(consumer.presence));
    }
  });
}

// ---- What happens -------------------------------------------------------------------------

void World::at(Millis when, std::function<void()> what) {
  loop_.at(start_ + when, std::move(what));
}

void World::trouble_at(Millis when, std::function<void()> what) {
  if (!scenario_.healed_at || when < *scenario_.healed_at) at(when, std::move(what));
}

void World::troubles_at(const std::vector<Millis>& instants, const std::function<void()>& what) {
  for (const auto when : instants) trouble_at(when, what);
}

void World::schedule() {
  if (scenario_.liveness_at) at(*scenario_.liveness_at, [this] { send_liveness_hook(); });
  at(scenario_.stop_at, [this] { begin_stop(); });
  if (scenario_.shortening) {
    at(scenario_.stop_at + scenario_.shortening->after, [this] { shorten(); });
  }
  if (scenario_.legacy && scenario_.legacy->off_at) {
    at(*scenario_.legacy->off_at, [this] { server_.endpoints().pause(); });
  }
  if (scenario_.kubelet_restart_at) {
    at(*scenario_.kubelet_restart_at, [this] { restart_kubelet(); });
  }
  for (const auto when : scenario_.sigterms_at) at(when, [this] { send_sigterm(); });
  if (scenario_.others_fail_at) {
    at(*scenario_.others_fail_at, [this] {
      for (const auto& [name, object] :
           fakes::KubeStore::Objects(server_.store().all(fakes::Resource::kPods))) {
        if (name != kOwnPod) server_.set_ready(name, false);
      }
    });
  }
  if (scenario_.replacement_at) {
    at(*scenario_.replacement_at, [this] { add_replacement(server_, scenario_); });
  }
  for (std::size_t i = 0; i < scenario_.service_changes.size(); ++i) {
    const auto& change = scenario_.service_changes[i];
    at(change.at, [this, &change, i] { apply(server_, change, i); });
  }
  if (scenario_.by_hand && scenario_.by_hand->until) {
    at(*scenario_.by_hand->until, [this] { unlist_by_hand(server_); });
  }
  for (const auto when : scenario_.moves_at) {
    at(when,
       [this] { server_.slices().move_endpoint(service_name(0), kOwnPod, scenario_.move_gap); });
  }
  if (scenario_.operator_release_at) {
    at(*scenario_.operator_release_at, [this] {
      stop_.operator_released = true;
      journal_.write("operator", "POST /release");
      process_->local_server.send(request("POST", "/release"), [](const auto&) {});
    });
  }
  for (const auto& intervention : scenario_.interventions) {
    at(intervention.first, [this, &intervention] { intervention.second(server_); });
  }
  schedule_troubles();
}

void World::schedule_troubles() {
  if (scenario_.impostor) {
    trouble_at(scenario_.impostor_from.value_or(Millis(0)),
               [this] { network_.set_impostor(scenario_.impostor); });
  }
  if (scenario_.token_lost_at) trouble_at(*scenario_.token_lost_at, [this] { lose_token(); });
  for (const auto& from : {scenario_.down_from, scenario_.down_again_from}) {
    if (from) trouble_at(*from, [this] { break_down(); });
  }
  if (scenario_.down_until) {
    trouble_at(*scenario_.down_until, [this] { network_.set_down(false); });
  }
  troubles_at(scenario_.restarts_at, [this] { restart_agent(); });
  troubles_at(scenario_.rotations_at, [this] { rotate_token(); });
  troubles_at(scenario_.compactions_at, [this] {
    server_.compact(random_.chance(0.5) ? fakes::GoneForm::kEvent : fakes::GoneForm::kStatus);
  });
  troubles_at(scenario_.closures_at, [this] { server_.end_watches(); });
  troubles_at(scenario_.wall_jumps_at, [this] {
    loop_.jump_wall(random_.between(-std::chrono::hours(48), std::chrono::hours(48)));
  });
  if (scenario_.healed_at) at(*scenario_.healed_at, [this] { heal(); });
}

void World::break_down() {
  journal_.write("net", "the API server is unreachable");
  network_.set_down(true);
  network_.reset_all();
}

void World::rotate_token() {
  const std::string fresh = token(++tokens_);
  journal_.write("cluster", "the token is now ", fresh);
  TokenOnDisk::instance().set(fresh);
  server_.set_tokens({fresh});
}

void World::lose_token() {
  journal_.write("cluster", "the token's file is empty");
  TokenOnDisk::instance().set("");
  server_.set_tokens({"another"});
}

void World::heal() {
  journal_.write("net", "healed");
  stop_.healed = loop_.now();
  network_.set_faults({});
  network_.set_down(false);
  server_.allow_all();
  limit_role();
  network_.reset_all();
}

// A Role cannot grant what has no namespace.
void World::limit_role() {
  if (!scenario_.node_readable) server_.forbid("get", "nodes");
}

void World::begin_stop() {
  stop_.began = loop_.now();
  end_pod();
  note_deadline();
  loop_.after(scenario_.hook_delay, [this] { stop_containers(); });
}

void World::end_pod() {
  journal_.write("cluster", to_string(scenario_.stop));
  switch (scenario_.stop) {
    case StopKind::kDeletion:
      server_.delete_pod(kOwnPod);
      break;
    case StopKind::kForceDeletion:
      server_.delete_pod(kOwnPod, seconds(0));
      break;
    case StopKind::kApiEviction:
      server_.update_pod(kOwnPod, [](fakes::Pod& pod) { pod.disruption_target = true; });
      server_.delete_pod(kOwnPod);
      break;
    case StopKind::kShutdown:
      server_.update_pod(kOwnPod, [](fakes::Pod& pod) { pod.disruption_target = true; });
      break;
    case StopKind::kEviction:
      server_.update_pod(kOwnPod, [](fakes::Pod& pod) {
        pod.phase = "Failed";
        pod.reason = "Evicted";
      });
      break;
    case StopKind::kNodeShutdown:
      server_.store().put(fakes::Node{kOwnNode, "False", "node is shutting down"});
      break;
    case StopKind::kNodePressure:
      server_.store().put(fakes::Node{.name = kOwnNode, .pressures = {"DiskPressure"}});
      break;
  }
}

const fakes::Pod* World::own_pod() {
  return server_.store().get<fakes::Pod>(fakes::Resource::kPods, kOwnPod);
}

void World::note_deadline() {
  const auto* pod = own_pod();
  if (pod == nullptr || !pod->deletion_timestamp) return;
  stop_.deadline = true_instant(*pod->deletion_timestamp);
  stop_.deadline_at = loop_.now();
}

// The kubelet starts over with the new grace period, hooks included.
void World::shorten() {
  const auto* pod = own_pod();
  if (pod == nullptr || !pod->deletion_timestamp || !hook_waits_) return;
  const auto& again = *scenario_.shortening;
  journal_.write("cluster", "second DELETE");
  server_.delete_pod(kOwnPod, again.grace);
  if ((pod = own_pod())) {
    note_deadline();
    kill_at_ = std::min(*kill_at_, loop_.now() + *pod->deletion_grace);
    kill_timer_->arm(*kill_at_);
  }
  if (again.hook_again) run_hooks();
}

// ---- The kubelet --------------------------------------------------------------------------

void World::stop_containers() {
  stop_.hook_at = loop_.now();
  kill_at_ = loop_.now() + scenario_.grace;
  kill_timer_->arm(*kill_at_);
  hook_waits_ = true;
  run_hooks();
}

void World::run_hooks() {
  if (scenario_.hook != HookKind::kNone) {
    for (int i = 0; i < scenario_.containers; ++i) send_hook();
  } else if (process_->agent) {
    send_sigterm();
  } else {
    finish("hook-lost");
  }
}
// What it has called over the network is cut off; lastcall-hook lives on in its container.
void World::restart_kubelet() {
  if (!hook_waits_) return;
  journal_.write("kubelet", "starts anew");
  if (process_->agent) {
    process_->pod_server.hang_up();
    // Unless a hold has begun, nobody waits for anything any more.
    const bool held = process_->agent->snapshot().hold_started.has_value();
    if (scenario_.hook == HookKind::kKubelet && !held) process_->life.hook_at.reset();
  }
  loop_.after(kKubeletStart, [this] {
    if (hook_waits_) run_hooks();
  });
}

void World::kill() {
  journal_.write("kubelet", "SIGKILL");
  if (!hook_waits_ || just_answered_) return;
  checker_.on_kill(process_->life, stop_, loop_.now());
  finish("killed");
}

// ---- The agent and its callers ------------------------------------------------------------

config::Settings World::settings() const {
  config::Settings settings;
  settings.pod_name.value = kOwnPod;
  settings.pod_namespace.value = kNamespace;
  settings.kubernetes_server.value = "http://api";
  settings.kubernetes_token_file.value = TokenOnDisk::instance().path();
  settings.settle = {scenario_.settle, config::Source::kFile};
  settings.blind.value = scenario_.blind;
  settings.margin.value = scenario_.margin;
  settings.reserve.value = scenario_.reserve;
  settings.hold_max.value = scenario_.hold_max;
  settings.last_endpoint.value =
      scenario_.ignore_last_resort ? config::LastEndpoint::kIgnore : config::LastEndpoint::kWait;
  settings.watch_pod.value = scenario_.watch_pod;
  settings.endpoints.value = scenario_.legacy.has_value();
  if (scenario_.configure) scenario_.configure(settings);
  return settings;
}

void World::start_agent() {
  journal_.write("kubelet", "the agent starts");
  process_ = std::make_unique<Process>();
  checker_.on_life();
  auto& process = *process_;
  if (sabotage_.servers) {
    sabotage_.servers(process.pod_server);
    sabotage_.servers(process.local_server);
  }
  net::HttpClient& http = wrapped_ ? *wrapped_ : network_;
  process.agent = std::make_unique<agent::Agent>(
      settings(), agent::Seams{loop_, http, process.pod_server, process.local_server, *this});
  exited_ = false;
  process.agent->on_exit([this] { on_exit(); });
  process.agent->start();
}

void World::restart_agent() {
  if (!process_->agent || outcome_.released) return;
  if (scenario_.hook == HookKind::kNone && hook_waits_) {
    finish("hook-lost");
    return;
  }
  journal_.write("kubelet", "the agent dies");
  process_->pod_server.die();
  process_->local_server.die();
  process_->agent.reset();
  loop_.after(kProcessStart, [this] {
    stop_.last_restart = loop_.now();
    start_agent();
  });
}

void World::send_liveness_hook() {
  const auto sent = loop_.now();
  auto& server = scenario_.hook == HookKind::kLocal ? process_->local_server : process_->pod_server;
  journal_.write("kubelet", "hook of a restarting container");
  server.send(request("POST", "/hold"), [this, sent](const auto& response) {
    journal_.write("kubelet", "its hook: ", response ? response->body : "connection lost");
    outcome_.liveness_waited = loop_.now() - sent;
  });
}

void World::send_hook() {
  if (outcome_.released || over_) return;
  journal_.write("kubelet", "hook");
  hook_waits_ = true;
  const bool local = scenario_.hook == HookKind::kLocal;
  auto& server = local ? process_->local_server : process_->pod_server;
  Life& life = process_->life;
  life.called_at = loop_.now();
  if (process_->agent) forget_unproven_stop();
  if (process_->agent && !life.hook_at) life.hook_at = loop_.now();
  server.send(request(local ? "POST" : "GET", "/hold"),
              [this](const auto& response) { on_hook_answered(response); });
}

// What was released without proof may have been no stop, and the next hook may belong to another.
// Only a deletion is for ever.
void World::forget_unproven_stop() {
  const auto snapshot = process_->agent->snapshot();
  const bool proven = snapshot.deadline_proven || snapshot.trigger == core::Trigger::kDeletion;
  if (snapshot.phase != core::Phase::kReleased || proven) return;
  Life& life = process_->life;
  life.hook_at.reset();
  life.read_shutdown = false;
  life.read_ending = life.read_deletion || life.read_gone;
}

void World::on_hook_answered(const std::optional<net::ServerResponse>& response) {
  if (!hook_waits_ || over_) return;
  const bool local = scenario_.hook == HookKind::kLocal;
  if (response) ++outcome_.hooks_answered;
  if (local && (!response || response->status != 200)) {
    loop_.after(kReconnect, [this] { send_hook(); });
  } else if (!response) {
    finish("hook-lost");
  } else {
    journal_.write("kubelet", "hook answered ", std::to_string(response->status), " ",
                   response->body);
    if (answer_.empty()) answer_ = response->body.substr(0, response->body.find('\n'));
    just_answered_ = true;
  }
}

void World::on_pod_reading(const PodReading& reading) {
  Life& life = process_->life;
  if (reading.gone) {
    if (!std::exchange(life.read_gone, true)) life.told_at = loop_.now();
    // One that never knew its Pod cannot tell whether it ever was.
    life.read_ending = life.read_pod;
    return;
  }
  const auto deadline =
      reading.deletion_timestamp ? true_instant(*reading.deletion_timestamp) : net::Instant{};
  if (!life.read_pod || life.read_ending != reading.ending || deadline != life.deadline) {
    life.told_at = loop_.now();
  }
  life.read_pod = true;
  life.read_ending = reading.ending;
  life.read_deletion = reading.deletion_timestamp.has_value();
  life.deadline = deadline;
}

void World::on_node_reading(const NodeReading& reading) {
  Life& life = process_->life;
  if (std::exchange(life.read_shutdown, reading.shutting_down) != reading.shutting_down) {
    life.told_at = loop_.now();
  }
}

void World::send_sigterm() {
  if (!process_->agent || over_) return;
  journal_.write("kubelet", "SIGTERM to the agent");
  Life& life = process_->life;
  if (has_begun() && life.sigterm_at == net::Instant{}) life.sigterm_at = loop_.now();
  if (has_begun() && !life.hook_at) life.hook_at = loop_.now();
  process_->agent->on_sigterm();
}

// Before the release it is started again: its container alone was restarted, or it is a native
// sidecar, and has left its callers alone.
void World::on_exit() {
  journal_.write("kubelet", "the agent has ended");
  exited_ = true;
  const std::size_t waiting = process_->pod_server.waiting() + process_->local_server.waiting();
  checker_.on_exit_with(waiting);
  if (outcome_.released || (scenario_.hook == HookKind::kNone && hook_waits_)) return;
  loop_.after(Millis(0), [this] { restart_agent(); });
}

// After the release, as soon as the other containers have ended.
void World::end_agent() {
  if (!process_->agent || outcome_.snapshot->phase != core::Phase::kReleased) {
    over_ = true;
    return;
  }
  if (scenario_.hook != HookKind::kNone) send_sigterm();
  loop_.after(kExitPatience, [this] {
    checker_.on_exit(exited_);
    over_ = true;
  });
}

// ---- Steps --------------------------------------------------------------------------------

Outcome World::run() {
  build_cluster();
  start_agent();
  schedule();
  const auto end = start_ + scenario_.stop_at + scenario_.hook_delay + scenario_.grace + seconds(5);
  while (!over_ && loop_.step(end)) after_step();
  // A SIGTERM meanwhile begins a hold of its own, which the hook then waits for.
  if (scenario_.liveness_at && scenario_.restarts_at.empty() && scenario_.sigterms_at.empty()) {
    checker_.on_liveness(outcome_.liveness_waited);
  }
  outcome_.violations = checker_.violations();
  outcome_.journal = journal_.lines();
  return std::move(outcome_);
}

void World::after_step() {
  if (process_->agent) checker_.on_snapshot(process_->agent->snapshot());
  if (!hook_waits_) return;
  if (scenario_.hook == HookKind::kNone && process_->agent) watch_sidecar();
  if (just_answered_) settle_release();
}

// Nobody is answered: what the agent does tells.
void World::watch_sidecar() {
  const auto snapshot = process_->agent->snapshot();
  if (snapshot.phase != core::Phase::kReleased && !exited_) return;
  const bool held = snapshot.hold_end && *snapshot.hold_end != core::HoldEnd::kPodLives;
  answer_ = held || stop_.operator_released ? "released" : kContainerRestart;
  just_answered_ = true;
}

void World::settle_release() {
  hook_waits_ = false;
  const auto snapshot = process_->agent->snapshot();
  outcome_.released = loop_.now() - stop_.began;
  if (const auto withdrawn = truth_.withdrawn_at()) outcome_.withdrawn = *withdrawn - stop_.began;
  outcome_.how = classify(snapshot);
  outcome_.snapshot = snapshot;
  checker_.on_release(answer_, snapshot, process_->life, stop_, loop_.now());
  checker_.on_hooks_left(snapshot,
                         process_->pod_server.waiting() + process_->local_server.waiting());
  loop_.after(kSigtermDelay, [this] { end_agent(); });
}

void World::finish(std::string how) {
  outcome_.how = std::move(how);
  over_ = true;
}

std::string World::classify(const core::Snapshot& snapshot) const {
  if (answer_ == kContainerRestart) return kContainerRestart;
  if (!snapshot.hold_end) return "unverified";
  const bool unseen = std::any_of(
      snapshot.consumers.begin(), snapshot.consumers.end(),
      [](const core::ConsumerState& state) { return state.gone_by == core::GoneBy::kBlind; });
  if (*snapshot.hold_end == core::HoldEnd::kAllGone && unseen) return "blind";
  return std::string(core::to_string(*snapshot.hold_end));
}

net::Instant World::true_instant(net::WallTime time) const {
  return loop_.now() + (std::chrono::floor<seconds>(time) - loop_.true_wall());
}

}  // namespace lastcall::sim
