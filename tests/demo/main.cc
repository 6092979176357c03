// lastcall-demo: what each way to stop a pod loses, and what it costs, seen in real time.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <variant>
#include <vector>

#include "net/curl_client.h"
#include "net/event_loop.h"
#include "tests/demo/drawing.h"
#include "tests/demo/options.h"
#include "tests/demo/replica.h"
#include "tests/demo/run.h"
#include "tests/demo/stage.h"
#include "tests/demo/summary.h"

namespace lastcall::demo {
namespace {

namespace fs = std::filesystem;

int cannot_run(const std::string& why) {
  std::cerr << "lastcall-demo: " << why << "\n";
  return kExitCannotRun;
}

std::string in_seconds(milliseconds duration) {
  std::string text = std::to_string(std::chrono::duration<double>(duration).count());
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text + " s";
}

void tell_scene(const Scene& scene) {
  std::cout << scene.replicas << " replicas, " << scene.rate
            << " requests/s, each on a new connection; slices follow "
            << in_seconds(scene.slice_lag) << " after a pod changes,\nthe balancer "
            << in_seconds(scene.balancer_lag)
            << " after the slices. A rollout replaces every pod, surge 1, without waiting for\n"
               "those that terminate.\n";
}

std::string default_svg() {
  std::error_code ignored;
  const fs::path directory = fs::is_directory("build", ignored) ? "build" : "/tmp";
  return (directory / "lastcall-demo.svg").string();
}

bool write_file(const std::string& path, const std::string& content) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << content;
  file.close();
  return file.good();
}

net::Result<std::vector<Recording>> play_all(const DemoOptions& options, const Stage& stage) {
  std::vector<Recording> recordings;
  for (const Strategy& strategy : options.strategies) {
    const int number = static_cast<int>(recordings.size()) + 1;
    std::cout << "\n[" << number << "/" << options.strategies.size()
              << "] preStop: " << to_string(strategy) << std::endl;
    auto recording = play(stage, options.scene, strategy, number, std::cout);
    if (!recording.ok()) return recording.error();
    recordings.push_back(std::move(recording).value());
  }
  return recordings;
}

net::Status report(const DemoOptions& options, const std::vector<Recording>& recordings) {
  std::vector<Row> rows;
  for (const auto& recording : recordings) rows.push_back(summarize(recording));
  std::cout << "\n" << table(rows) << "\n" << conclusion(rows);

  const std::string svg = fs::absolute(options.svg.empty() ? default_svg() : options.svg).string();
  if (!write_file(svg, draw(options.scene, recordings))) {
    return net::Error{net::ErrorCode::kFatal, svg + ": cannot be written", {}};
  }
  std::cout << "drawn in " << svg << std::endl;
  if (!options.json.empty() && !write_file(options.json, to_json(rows))) {
    return net::Error{net::ErrorCode::kFatal, options.json + ": cannot be written", {}};
  }
  return net::Done{};
}

int verdict(const std::vector<Recording>& recordings, WorkDirectory& directory) {
  for (const auto& recording : recordings) {
    if (is_lossless(recording)) continue;
    directory.keep();
    std::cerr << "lastcall-demo: lastcall was not lossless; its logs are in " << directory.path()
              << "\n";
    return kExitLost;
  }
  return kExitLossless;
}

int run_demo(const DemoOptions& options) {
  auto binaries = find_binaries(options.bin_dir);
  if (!binaries.ok()) return cannot_run(binaries.error().message);
  net::EventLoop loop;
  net::CurlClient http(loop);
  Processes processes(loop);
  WorkDirectory directory;
  const Port pod_port;
  const Port agent_port;
  const Stage stage{loop,
                    http,
                    processes,
                    std::move(binaries).value(),
                    directory.path(),
                    pod_port.number(),
                    agent_port.number()};
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    loop.on_signal(signal, [&loop] { loop.stop(); });
  }

  tell_scene(options.scene);
  const auto recordings = play_all(options, stage);
  if (!recordings.ok()) return cannot_run(recordings.error().message);
  const net::Status reported = report(options, recordings.value());
  if (!reported.ok()) return cannot_run(reported.error().message);
  return verdict(recordings.value(), directory);
}

struct Dispatch {
  int operator()(const DemoOptions& options) const { return run_demo(options); }
  int operator()(const ReplicaOptions& options) const { return run_replica(options); }
  int operator()(const ExitNow& exit) const { return exit.code; }
};

}  // namespace
}  // namespace lastcall::demo

int main(int argc, char** argv) {
  using namespace lastcall::demo;
  return std::visit(Dispatch(), parse_options(argc, argv));
}
