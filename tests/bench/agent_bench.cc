// What the agent and the hook cost as processes (DESIGN 8): the real binaries against a fake
// API server on loopback, in the worst scene of the budgets: 100 slices of 100 endpoints.
//
//   lastcall_agent_bench LASTCALL LASTCALL_HOOK [--idle-seconds N] [--stops N]
//
// Prints one JSON object. Measures itself and its subjects in one run on one machine.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/event_loop.h"
#include "tests/fakes/api_listener.h"
#include "tests/fakes/fake_api_server.h"

namespace lastcall::bench {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kSlices = 100;
constexpr int kEndpointsPerSlice = 100;
constexpr seconds kPatience{30};
const std::string kPod = "web-0";
const std::string kUid = "00000000-0000-0000-0000-000000000001";

[[noreturn]] void give_up(const std::string& why) {
  std::cerr << "agent_bench: " << why << "\n";
  std::exit(1);
}

double in_ms(Clock::duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const auto last = static_cast<double>(values.size() - 1);
  return values[static_cast<std::size_t>(std::lround(share * last))];
}

// A child process that does not outlive this object.
class Child {
 public:
  Child(const std::vector<std::string>& arguments, const std::vector<std::string>& environment) {
    const auto pointers = [](const std::vector<std::string>& words) {
      std::vector<char*> result;
      for (const std::string& word : words) result.push_back(const_cast<char*>(word.c_str()));
      result.push_back(nullptr);
      return result;
    };
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    const int error = posix_spawnp(&pid_, arguments[0].c_str(), &actions, nullptr,
                                   pointers(arguments).data(), pointers(environment).data());
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) give_up("cannot start " + arguments[0]);
  }
  ~Child() {
    kill(pid_, SIGKILL);
    wait();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  void interrupt() const { kill(pid_, SIGINT); }
  void wait() {
    if (!waited_) waitpid(pid_, nullptr, 0);
    waited_ = true;
  }

 private:
  pid_t pid_ = -1;
  bool waited_ = false;
};

int private_dirty_kib(pid_t pid) {
  std::ifstream rollup("/proc/" + std::to_string(pid) + "/smaps_rollup");
  int total = 0;
  for (std::string word; rollup >> word;) {
    int kib = 0;
    if (word == "Private_Dirty:" && rollup >> kib) total += kib;
  }
  return total;
}

// A preStop hook: POST /hold on the agent's unix socket.
class Hook {
 public:
  explicit Hook(const std::string& path) : fd_(socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    const std::string_view request =
        "POST /hold HTTP/1.1\r\nHost: agent\r\nContent-Length: 0\r\n\r\n";
    if (connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 ||
        write(fd_, request.data(), request.size()) < 0) {
      give_up("cannot reach the agent's socket");
    }
  }
  ~Hook() { close(fd_); }
  Hook(const Hook&) = delete;
  Hook& operator=(const Hook&) = delete;

  [[nodiscard]] bool answered() const {
    std::array<char, 256> buffer;
    return recv(fd_, buffer.data(), buffer.size(), MSG_DONTWAIT) > 0;
  }

 private:
  int fd_;
};

fakes::Endpoint own_endpoint(bool ready) {
  return {.pod = kPod,
          .uid = kUid,
          .address = "10.0.0.1",
          .node = "node-a",
          .ready = ready,
          .serving = true,
          .terminating = !ready};
}

// The i-th slice of the Service; our entry is in the first.
fakes::Slice make_slice(int index, bool own_ready) {
  fakes::Slice slice;
  slice.name = "web-" + std::to_string(10000 + index);
  slice.service = "web";
  for (int i = 0; i < kEndpointsPerSlice; ++i) {
    const std::string number = std::to_string(index * kEndpointsPerSlice + i);
    slice.endpoints.push_back(
        {.pod = "web-" + number,
         .uid = "11111111-0000-0000-0000-" + std::string(12 - number.size(), '0') + number,
         .address = "10." + std::to_string(index) + ".1." + std::to_string(i),
         .node = "node-" + std::to_string(i % 30)});
  }
  if (index == 0) slice.endpoints[0] = own_endpoint(own_ready);
  return slice;
}

class Scene {
 public:
  explicit Scene(std::string agent) : agent_(std::move(agent)) {
    folder_ =
        std::filesystem::temp_directory_path() / ("lastcall-bench-" + std::to_string(getpid()));
    std::filesystem::create_directory(folder_);
    std::ofstream(folder_ / "token") << "bench";
    server_.slices().pause();
    server_.store().put(fakes::Service{.name = "web", .selector = {{"app", "web"}}});
    for (int i = 0; i < kSlices; ++i) server_.store().put(make_slice(i, true));
  }
  ~Scene() { std::filesystem::remove_all(folder_); }
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;

  [[nodiscard]] std::string socket_path() const { return folder_ / "agent.sock"; }
  [[nodiscard]] std::string file(const std::string& name) const { return folder_ / name; }

  // A living, ready pod and its agent, which has learnt all it learns at its start.
  [[nodiscard]] std::unique_ptr<Child> start_agent() {
    server_.store().remove(fakes::Resource::kPods, kPod);
    fakes::Pod pod;
    pod.name = kPod;
    pod.uid = kUid;
    pod.labels = {{"app", "web"}};
    pod.ips = {"10.0.0.1"};
    pod.grace = seconds(120);
    server_.store().put(pod);
    server_.store().put(make_slice(0, true));
    const int learnt = asked("list services");
    auto agent = std::make_unique<Child>(
        std::vector<std::string>{agent_, "agent"},
        std::vector<std::string>{
            "LASTCALL_POD_NAME=" + kPod, "LASTCALL_POD_NAMESPACE=shop", "LASTCALL_POD_UID=" + kUid,
            "LASTCALL_KUBERNETES_SERVER=" + listener_.url(),
            "LASTCALL_KUBERNETES_TOKEN_FILE=" + file("token"), "LASTCALL_LISTEN_POD=127.0.0.1:0",
            "LASTCALL_LISTEN_LOCAL=unix:" + socket_path(), "LASTCALL_SETTLE=0s"});
    pump_until([&] { return asked("list services") > learnt; });
    pump_for(milliseconds(20));
    return agent;
  }

  // The pod is deleted and its hook waits; returns once the agent watches the slices.
  // `meanwhile` is called often.
  [[nodiscard]] std::unique_ptr<Hook> begin_stop(const std::function<void()>& meanwhile) {
    server_.delete_pod(kPod);
    const int watched = asked("watch endpointslices");
    auto hook = std::make_unique<Hook>(socket_path());
    pump_until([&] {
      meanwhile();
      return asked("watch endpointslices") > watched;
    });
    pump_for(milliseconds(20));
    return hook;
  }

  // From before the withdrawal is written until the hook is answered.
  [[nodiscard]] double release_ms(const Hook& hook) {
    const Clock::time_point withdrawn = Clock::now();
    server_.store().put(make_slice(0, false));
    pump_until([&] { return hook.answered(); });
    return in_ms(Clock::now() - withdrawn);
  }

  void pump_for(milliseconds time) {
    const Clock::time_point end = Clock::now() + time;
    while (Clock::now() < end) pump();
  }

 private:
  [[nodiscard]] int asked(const std::string& what) const {
    const auto it = server_.asked().find(what);
    return it == server_.asked().end() ? 0 : it->second;
  }
  // One turn of the server's loop, without blocking.
  void pump() {
    stop_->arm(loop_.now());
    loop_.run();
  }
  void pump_until(const std::function<bool()>& done) {
    const Clock::time_point end = Clock::now() + kPatience;
    while (!done()) {
      if (Clock::now() > end) give_up("the agent did not do what was expected of it");
      pump();
    }
  }

  std::string agent_;
  std::filesystem::path folder_;
  net::EventLoop loop_;
  std::unique_ptr<net::Timer> stop_ = loop_.make_timer([this] { loop_.stop(); });
  fakes::FakeApiServer server_{loop_};
  fakes::ApiListener listener_{loop_, server_};
};

std::vector<double> measure_releases(Scene& scene, int stops) {
  std::vector<double> latencies;
  for (int i = 0; i < stops; ++i) {
    const auto agent = scene.start_agent();
    const auto hook = scene.begin_stop([] {});
    latencies.push_back(scene.release_ms(*hook));
  }
  return latencies;
}

struct Memory {
  int idle_kib = 0;
  int list_peak_kib = 0;
};

Memory measure_memory(Scene& scene) {
  const auto agent = scene.start_agent();
  scene.pump_for(milliseconds(500));
  Memory memory{private_dirty_kib(agent->pid()), 0};
  const auto sample = [&] {
    memory.list_peak_kib = std::max(memory.list_peak_kib, private_dirty_kib(agent->pid()));
  };
  const auto hook = scene.begin_stop(sample);
  sample();
  return memory;
}

// System calls of an agent that nobody asks anything, counted by strace.
int count_idle_syscalls(Scene& scene, seconds time) {
  const auto agent = scene.start_agent();
  scene.pump_for(milliseconds(500));
  const std::string trace = scene.file("strace");
  Child strace({"strace", "-f", "-qq", "-o", trace, "-p", std::to_string(agent->pid())},
               {"PATH=/usr/bin:/bin"});
  scene.pump_for(time);
  strace.interrupt();
  strace.wait();
  std::ifstream lines(trace);
  const auto is_wait = [](const std::string& line) {
    return line.find("epoll_wait(") != std::string::npos;
  };
  // Being attached to interrupts a wait: what comes before the next one is strace's doing. The
  // last line is the wait that the detaching cut.
  std::vector<std::string> seen;
  for (std::string line; std::getline(lines, line);) {
    if (!seen.empty() || is_wait(line)) seen.push_back(line);
  }
  if (seen.empty() || seen.back().find("<detached ...>") == std::string::npos) {
    give_up("strace did not see the agent waiting; it may not be allowed to trace");
  }
  return static_cast<int>(seen.size()) - 1;
}

double measure_hook_start(const std::string& hook) {
  std::vector<double> times;
  for (int i = 0; i < 200; ++i) {
    const Clock::time_point start = Clock::now();
    Child child({hook, "version"}, {});
    child.wait();
    times.push_back(in_ms(Clock::now() - start));
  }
  return quantile(times, 0.5);
}

int run(int argc, char** argv) {
  if (argc < 3)
    give_up("usage: lastcall_agent_bench LASTCALL LASTCALL_HOOK [--idle-seconds N] [--stops N]");
  int idle_seconds = 60;
  int stops = 200;
  for (int i = 3; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    const int value = std::atoi(argv[i + 1]);
    if (value <= 0) give_up(option + " takes a whole number above 0");
    if (option == "--idle-seconds") {
      idle_seconds = value;
    } else if (option == "--stops") {
      stops = value;
    } else {
      give_up("unknown option " + option);
    }
  }
  const std::string hook = argv[2];
  Scene scene(argv[1]);
  const std::vector<double> releases = measure_releases(scene, stops);
  const Memory memory = measure_memory(scene);
  const nlohmann::ordered_json figures = {
      {"release_latency_ms_p50", quantile(releases, 0.5)},
      {"release_latency_ms_p99", quantile(releases, 0.99)},
      {"private_dirty_kib_idle", memory.idle_kib},
      {"private_dirty_kib_list_peak", memory.list_peak_kib},
      {"idle_syscalls_60s", count_idle_syscalls(scene, seconds(idle_seconds))},
      {"hook_bytes", std::filesystem::file_size(hook)},
      {"hook_start_ms", measure_hook_start(hook)}};
  std::cout << figures.dump(2) << "\n";
  return 0;
}

}  // namespace
}  // namespace lastcall::bench

int main(int argc, char** argv) { return lastcall::bench::run(argc, argv); }
