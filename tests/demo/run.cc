#include "tests/demo/run.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include "tests/demo/agent_log.h"
#include "tests/demo/balancer.h"
#include "tests/demo/chronicle.h"
#include "tests/demo/control_plane.h"
#include "tests/demo/kubelet.h"
#include "tests/demo/load.h"
#include "tests/demo/rollout.h"
#include "tests/fakes/api_listener.h"
#include "tests/fakes/fake_api_server.h"

namespace lastcall::demo {
namespace {

constexpr const char* kToken = "demo-token";
constexpr milliseconds kWarmUp{500};
constexpr milliseconds kCoolDown{300};
// A run that takes so much longer than its slowest stop has gone wrong.
constexpr seconds kPatience{60};

std::string content_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string write_token(const std::string& directory) {
  std::string path = directory + "/token";
  std::ofstream(path) << kToken;
  return path;
}

// In each act the run waits for one thing, and then goes on to the next.
enum class Act { kStarting, kWarmingUp, kRollingOut, kSettling, kCoolingDown, kOver };

class Run {
 public:
  Run(const Stage& stage, const Scene& scene, const Strategy& strategy, int number,
      std::ostream& out)
      : stage_(stage),
        scene_(scene),
        token_file_(write_token(stage.directory)),
        wall_offset_(stage.loop.wall_now().time_since_epoch() -
                     stage.loop.now().time_since_epoch()),
        api_(stage.loop),
        listener_(stage.loop, api_),
        control_plane_(stage.loop, api_),
        chronicle_(stage.loop, api_.store(), recording_, out),
        kubelet_(stage, api_, {scene, strategy, listener_.url(), token_file_}, kubelet_events()),
        balancer_(stage.loop, stage.http, {listener_.url(), token_file_, ""},
                  api_.store().namespace_name(), scene.seed, balancer_events()),
        load_(stage.loop, load_config(), recording_),
        next_(stage.loop.make_timer([this] { proceed(); })),
        patience_(stage.loop.make_timer([this] { give_up("it takes too long"); })),
        rollout_(stage.loop, api_, scene.replicas, number, [this] { on_rollout_done(); }) {
    recording_.strategy = strategy;
    api_.set_tokens({kToken});
    patience_->arm(stage_.loop.now() + kPatience + scene.replicas * scene.start_time +
                   scene.slice_lag + scene.balancer_lag);
  }

  net::Result<Recording> play() {
    stage_.loop.run();
    if (!trouble_.empty()) return net::Error{net::ErrorCode::kFatal, trouble_, {}};
    if (act_ != Act::kOver) return net::Error{net::ErrorCode::kFatal, "interrupted", {}};
    if (recording_.strategy.pre_stop == PreStop::kLastcall) read_agents();
    return std::move(recording_);
  }

 private:
  Kubelet::Events kubelet_events() {
    return {.on_stopped = [this](const std::string& pod) { chronicle_.pod_stopped(pod); },
            .on_trouble = [this](const std::string& why) { give_up(why); }};
  }

  Balancer::Events balancer_events() {
    return {.on_seen = [this](const auto& addresses) { chronicle_.slices_say(addresses); },
            .on_applied =
                [this](const auto& addresses) {
                  chronicle_.balancer_does(addresses);
                  if (act_ == Act::kStarting || act_ == Act::kSettling) proceed();
                }};
  }

  Load::Config load_config() {
    return {.rate = scene_.rate,
            .port = stage_.pod_port,
            .choose = [this] { return balancer_.choose(); },
            .on_idle = [this] { end(); }};
  }

  void proceed() {
    switch (act_) {
      case Act::kStarting:
        if (routes_to_living_pods()) begin_load();
        break;
      case Act::kWarmingUp:
        begin_rollout();
        break;
      case Act::kSettling:
        if (routes_to_living_pods()) enter(Act::kCoolingDown, kCoolDown);
        break;
      case Act::kCoolingDown:
        recording_.load_ended = stage_.loop.now();
        load_.stop();
        break;
      case Act::kRollingOut:
      case Act::kOver:
        break;
    }
  }

  void enter(Act act, milliseconds lasting) {
    act_ = act;
    next_->arm(stage_.loop.now() + lasting);
  }

  void begin_load() {
    recording_.load_began = stage_.loop.now();
    load_.start();
    enter(Act::kWarmingUp, kWarmUp);
  }

  void begin_rollout() {
    act_ = Act::kRollingOut;
    control_plane_.set_lag(scene_.slice_lag);
    balancer_.set_lag(scene_.balancer_lag);
    chronicle_.begin_rollout();
    rollout_.begin();
  }

  void on_rollout_done() {
    chronicle_.end_rollout();
    act_ = Act::kSettling;
    proceed();
  }

  void end() {
    act_ = Act::kOver;
    stage_.loop.stop();
  }

  void give_up(const std::string& why) {
    trouble_ = why;
    stage_.loop.stop();
  }

  // The balancer has caught up with the control plane.
  [[nodiscard]] bool routes_to_living_pods() const {
    Balancer::Addresses living;
    for (const auto& pod : recording_.pods) {
      if (pod.ready && !pod.deleted) living.push_back(pod.address);
    }
    std::sort(living.begin(), living.end());
    return balancer_.applied() == living && living.size() == std::size_t(scene_.replicas);
  }

  void read_agents() {
    for (auto& pod : recording_.pods) {
      const AgentStory story =
          read_agent_log(content_of(agent_log_path(stage_.directory, pod.name)));
      pod.agent_hold_end = story.hold_end;
      if (story.released) {
        pod.agent_released = net::Instant(story.released->time_since_epoch() - wall_offset_);
      }
    }
  }

  const Stage& stage_;
  const Scene& scene_;
  const std::string token_file_;
  const net::Duration wall_offset_;
  Recording recording_;
  Act act_ = Act::kStarting;
  std::string trouble_;

  fakes::FakeApiServer api_;
  fakes::ApiListener listener_;
  ControlPlane control_plane_;
  Chronicle chronicle_;
  Kubelet kubelet_;
  Balancer balancer_;
  Load load_;
  std::unique_ptr<net::Timer> next_;
  std::unique_ptr<net::Timer> patience_;
  Rollout rollout_;
};

}  // namespace

net::Result<Recording> play(const Stage& stage, const Scene& scene, const Strategy& strategy,
                            int number, std::ostream& out) {
  return Run(stage, scene, strategy, number, out).play();
}

}  // namespace lastcall::demo
