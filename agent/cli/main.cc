// lastcall: the command line.
//
// Exit codes: 0 done, 1 cannot work here, 2 the command line or the configuration is wrong.
// Of check: 0 fine, 1 warnings, 2 the agent cannot work.
#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "agent/cli/agent.h"
#include "agent/cli/check.h"
#include "agent/report/log.h"
#include "config/settings.h"
#include "k8s/cluster.h"
#include "net/curl_client.h"
#include "net/event_loop.h"
#include "net/evhttp_server.h"

namespace lastcall::agent {
namespace {

constexpr int kDone = 0;
constexpr int kCannotWork = 1;
constexpr int kUsage = 2;

int fail(int code, const std::string& why) {
  std::cerr << "lastcall: " << why << "\n";
  return code;
}

report::Level least_level(config::LogLevel level) {
  switch (level) {
    case config::LogLevel::kDebug:
      return report::Level::kDebug;
    case config::LogLevel::kInfo:
      return report::Level::kInfo;
    case config::LogLevel::kWarn:
      return report::Level::kWarn;
    case config::LogLevel::kError:
      return report::Level::kError;
  }
  return report::Level::kInfo;
}

std::string variable(const config::Environment& environment, const char* name) {
  const auto it = environment.find(name);
  return it == environment.end() ? "" : it->second;
}

// Names the API server, as the settings or else the pod's environment say.
net::Status find_cluster(config::Settings& settings, const config::Environment& environment) {
  if (!settings.kubernetes_server.value.empty()) return net::Done{};
  net::Result<std::string> server =
      k8s::in_cluster_server(variable(environment, "KUBERNETES_SERVICE_HOST"),
                             variable(environment, "KUBERNETES_SERVICE_PORT"));
  if (!server.ok()) return server.error();
  settings.kubernetes_server.value = std::move(server).value();
  return net::Done{};
}

// The settings, with the API server named; or what is wrong with them.
net::Result<config::Settings> load_settings(const std::string& config_path,
                                            const config::Environment& environment) {
  const auto wrong = [](std::string why) {
    return net::Error{net::ErrorCode::kFatal, std::move(why), std::nullopt};
  };
  auto loaded = config::load_file(config_path, environment);
  if (const auto* error = std::get_if<config::ConfigError>(&loaded)) return wrong(error->text());
  config::Settings settings = std::get<config::Settings>(std::move(loaded));
  if (const net::Status found = find_cluster(settings, environment); !found.ok()) {
    return wrong(found.error().message);
  }
  return settings;
}

int run_agent(const std::string& config_path) {
  auto loaded = load_settings(config_path, config::process_environment());
  if (!loaded.ok()) return fail(kUsage, loaded.error().message);
  const config::Settings settings = std::move(loaded).value();

  net::EventLoop loop;
  net::CurlClient http(loop);
  auto pod_server = net::EvhttpServer::listen(loop, settings.listen_pod.value, {});
  if (!pod_server.ok()) return fail(kCannotWork, pod_server.error().message);
  auto local_server = net::EvhttpServer::listen(loop, settings.listen_local.value, {});
  if (!local_server.ok()) return fail(kCannotWork, local_server.error().message);

  report::StderrSink sink(least_level(settings.log_level.value));
  report::Log(loop, sink)
      .write(report::Level::kInfo, "started",
             {{"version", LASTCALL_VERSION},
              {"pod", settings.pod_namespace.value + "/" + settings.pod_name.value},
              {"listen_pod", pod_server.value()->address()},
              {"listen_local", local_server.value()->address()},
              {"kubernetes", settings.kubernetes_server.value}});

  Agent agent(settings, {loop, http, *pod_server.value(), *local_server.value(), sink});
  agent.on_exit([&loop] { loop.stop(); });
  loop.on_signal(SIGTERM, [&agent] { agent.on_sigterm(); });
  loop.on_signal(SIGINT, [&agent] { agent.on_sigterm(); });
  agent.start();
  loop.run();
  return kDone;
}

// What the command line of check says.
struct CheckOptions {
  std::string config_path;
  std::string output = "table";
  std::string timeout = "15s";
  // By the variable each goes before.
  std::map<std::string, std::string> variables;
};

int run_check(const CheckOptions& options) {
  config::Environment environment = config::process_environment();
  for (const auto& [name, value] : options.variables) {
    if (!value.empty()) environment[name] = value;
  }
  const auto patience = config::parse_duration(options.timeout);
  if (!patience) {
    return fail(kUsage, "--timeout: expected " + std::string(config::kDurationForm));
  }
  const auto settings = load_settings(options.config_path, environment);
  if (!settings.ok()) return fail(kUsage, settings.error().message);

  net::EventLoop loop;
  net::CurlClient http(loop);
  Check check(settings.value(), loop, http);
  int code = kCannotWork;
  check.start(*patience, [&](const CheckResult& result) {
    std::cout << (options.output == "json" ? check_json(result) : check_table(result));
    code = exit_code(result);
    loop.stop();
  });
  loop.run();
  return code;
}

void add_check(CLI::App& app, CheckOptions& options) {
  CLI::App* check = app.add_subcommand(
      "check",
      "Show what the agent would observe for a pod, with which thresholds, and what keeps it from\n"
      "that. Exit codes: 0 fine, 1 warnings, 2 the agent cannot work.");
  check->add_option("--config", options.config_path, "YAML file of the agent");
  const auto add = [&](const char* flag, const char* variable, const char* meaning) {
    check->add_option(flag, options.variables[variable],
                      std::string(meaning) + "; else " + variable);
  };
  add("-n,--namespace", "LASTCALL_POD_NAMESPACE", "The pod's namespace");
  add("--pod", "LASTCALL_POD_NAME", "The pod's name");
  add("--server", "LASTCALL_KUBERNETES_SERVER", "URL of the API server, else in-cluster");
  add("--token-file", "LASTCALL_KUBERNETES_TOKEN_FILE", "Whose permissions are used and shown");
  add("--ca-file", "LASTCALL_KUBERNETES_CA_FILE", "Certificate authority of the API server");
  check->add_option("-o,--output", options.output, "table (default) or json")
      ->check(CLI::IsMember({"table", "json"}));
  check->add_option("--timeout", options.timeout, "How long to wait for answers (default 15s)");
}

}  // namespace
}  // namespace lastcall::agent

int main(int argc, char** argv) {
  CLI::App app{
      "Makes stopping a Kubernetes pod lossless: keeps it serving until every observed consumer\n"
      "has let go of it, then lets the kubelet stop it.\n\n"
      "Exit codes: 0 done, 1 cannot work here, 2 wrong command line or configuration."};
  app.require_subcommand(1);

  std::string config_path;
  CLI::App* agent = app.add_subcommand("agent", "Run beside the application, as a sidecar.");
  agent->add_option("--config", config_path,
                    "YAML file; every key can also be given as LASTCALL_KEY in the environment");
  lastcall::agent::CheckOptions check_options;
  lastcall::agent::add_check(app, check_options);
  CLI::App* version = app.add_subcommand("version", "Print the version.");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? lastcall::agent::kDone : lastcall::agent::kUsage;
  }
  if (version->parsed()) {
    std::cout << "lastcall " << LASTCALL_VERSION << "\n";
    return lastcall::agent::kDone;
  }
  if (agent->parsed()) return lastcall::agent::run_agent(config_path);
  return lastcall::agent::run_check(check_options);
}
