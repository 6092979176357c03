#include "tests/demo/options.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <optional>

#include "config/duration.h"

namespace lastcall::demo {
namespace {

constexpr milliseconds kLagMax = seconds(20);

// "300ms", "4s", and as a convenience "1.2s" or "4" in seconds.
std::optional<milliseconds> parse_lag(std::string_view text) {
  if (const auto duration = config::parse_duration(text)) return *duration;
  if (text.ends_with('s')) text.remove_suffix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (!(value >= 0 && value <= 1000)) return std::nullopt;
  return std::chrono::round<milliseconds>(std::chrono::duration<double>(value));
}

void add_lag(CLI::App& app, const std::string& name, milliseconds& lag, const std::string& help) {
  const auto read = [&lag](const std::string& text) {
    const auto parsed = parse_lag(text);
    if (!parsed || *parsed > kLagMax) return false;
    lag = *parsed;
    return true;
  };
  app.add_option_function<std::string>(
         name,
         [read](const std::string& text) {
           if (!read(text)) throw CLI::ValidationError("a duration up to 20s is expected: " + text);
         },
         help)
      ->type_name("DURATION");
}

void add_strategies(CLI::App& app, std::vector<Strategy>& strategies) {
  app.add_option_function<std::vector<std::string>>(
         "--strategies",
         [&strategies](const std::vector<std::string>& names) {
           strategies.clear();
           for (const auto& name : names) {
             const auto strategy = parse_strategy(name);
             if (!strategy) {
               throw CLI::ValidationError("none, sleep-1 to sleep-25 or lastcall is expected: " +
                                          name);
             }
             strategies.push_back(*strategy);
           }
         },
         "which to play (default: none,sleep-2,sleep-15,lastcall)")
      ->delimiter(',')
      ->type_name("A,B..");
}

void add_scene(CLI::App& app, Scene& scene) {
  add_lag(app, "--lag", scene.slice_lag,
          "how long the EndpointSlice takes to follow a pod (default: 4s)");
  add_lag(app, "--balancer-lag", scene.balancer_lag,
          "how long the balancer takes to follow the slice (default: 1.2s)");
  app.add_option("--rate", scene.rate, "requests per second")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--replicas", scene.replicas, "pods to replace")
      ->check(CLI::Range(1, 20))
      ->capture_default_str();
  app.add_option("--seed", scene.seed, "for the balancer's choices and the replicas' pace")
      ->capture_default_str();
}

CLI::App* add_replica(CLI::App& app, ReplicaOptions& replica, std::int64_t& start_after_ms) {
  CLI::App* const command = app.add_subcommand("replica")->group("");
  command->add_option("--listen", replica.listen)->required();
  command->add_option("--start-after-ms", start_after_ms)->required();
  command->add_option("--seed", replica.seed)->required();
  return command;
}

}  // namespace

Options parse_options(int argc, const char* const* argv) {
  CLI::App app{
      "Rolling restarts of real HTTP servers behind a balancer that follows a simulated\n"
      "control plane, under load: what each way to stop a pod loses, and what it costs.\n\n"
      "Exit codes: 0 lastcall lost nothing, 1 it lost something, 2 the demo could not run."};
  DemoOptions demo;
  demo.strategies = {{PreStop::kNone, {}},
                     {PreStop::kSleep, seconds(2)},
                     {PreStop::kSleep, seconds(15)},
                     {PreStop::kLastcall, {}}};
  ReplicaOptions replica;
  std::int64_t start_after_ms = 0;
  add_scene(app, demo.scene);
  add_strategies(app, demo.strategies);
  app.add_option("--json", demo.json, "write the table's rows to this file")->type_name("FILE");
  app.add_option("--svg", demo.svg, "draw the runs to this file")->type_name("FILE");
  app.add_option("--bin-dir", demo.bin_dir, "where lastcall and lastcall-hook are")
      ->type_name("DIR");
  const CLI::App* const is_replica = add_replica(app, replica, start_after_ms);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return ExitNow{app.exit(error) == 0 ? kExitLossless : kExitCannotRun};
  }
  if (is_replica->parsed()) {
    replica.start_after = milliseconds(start_after_ms);
    return replica;
  }
  return demo;
}

}  // namespace lastcall::demo
