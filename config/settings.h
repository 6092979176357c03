// What the operator said, as one immutable value.
//
// Precedence: environment > YAML file > built-in default. Annotations are resolved later,
// per consumer, over what stands here (DESIGN 2).
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/duration.h"

namespace lastcall::config {

// Where a value came from.
enum class Source { kDefault, kFile, kEnvironment };

[[nodiscard]] std::string_view to_string(Source source);

template <class T>
struct Setting {
  T value;
  Source source = Source::kDefault;
};

enum class LastEndpoint { kWait, kIgnore };
enum class LogLevel { kDebug, kInfo, kWarn, kError };

// Every key of the file stands beside its member; a dot is a level of nesting. The environment
// variable of a key is LASTCALL_ and the key in capitals, with _ for . and -: LASTCALL_HOLD_MAX.
struct Settings {
  // Who we are, normally from the downward API. Required: name, namespace.
  Setting<std::string> pod_name{};              // pod.name
  Setting<std::string> pod_namespace{};         // pod.namespace
  Setting<std::string> pod_uid{};               // pod.uid; empty: learnt from the Pod object
  Setting<std::vector<std::string>> pod_ips{};  // pod.ips; a list, or "a,b" in the environment
  Setting<std::string> node_name{};             // pod.node; empty: learnt from the Pod object

  // The API server. Empty: in-cluster (KUBERNETES_SERVICE_HOST and _PORT).
  Setting<std::string> kubernetes_server{};  // kubernetes.server; http(s)://host[:port]
  // kubernetes.token-file and kubernetes.ca-file
  Setting<std::string> kubernetes_token_file{"/var/run/secrets/kubernetes.io/serviceaccount/token"};
  Setting<std::string> kubernetes_ca_file{"/var/run/secrets/kubernetes.io/serviceaccount/ca.crt"};

  Setting<std::string> listen_pod{"[::]:19100"};         // listen.pod; host:port
  Setting<std::string> listen_local{"127.0.0.1:19101"};  // listen.local; loopback host:port
                                                         // or unix:/absolute/path

  // Thresholds that annotations may override per consumer.
  Setting<Milliseconds> settle{std::chrono::seconds(3)};     // settle
  Setting<Milliseconds> quiet{std::chrono::seconds(1)};      // quiet
  Setting<Milliseconds> blind{std::chrono::seconds(25)};     // blind
  Setting<LastEndpoint> last_endpoint{LastEndpoint::kWait};  // last-endpoint: wait | ignore
  Setting<bool> silence{true};                               // silence: true | false

  // What is looked at beyond the EndpointSlices.
  Setting<bool> watch_pod{false};  // watch-pod: true | false
  Setting<bool> endpoints{false};  // endpoints: true | false

  Setting<Milliseconds> hold_min{Milliseconds(0)};   // hold.min
  Setting<std::optional<Milliseconds>> hold_max{};   // hold.max; none: the deadline's
  Setting<Milliseconds> drain_min{Milliseconds(0)};  // drain.min
  Setting<std::optional<Milliseconds>> drain_max{};  // drain.max; none: the deadline's
  // Default: 10 s, or a third of the grace period if that is less.
  Setting<std::optional<Milliseconds>> reserve{};         // reserve
  Setting<Milliseconds> margin{std::chrono::seconds(1)};  // margin

  Setting<LogLevel> log_level{LogLevel::kInfo};  // log.level: debug|info|warn|error
};

// One thing wrong with what the operator said.
struct ConfigError {
  std::string where;    // "lastcall.yaml:12", or "environment"
  std::string key;      // "hold.max", or the variable's name; empty when the file as a whole
  std::string message;  // what was found, and what was expected

  // "lastcall.yaml:12: hold.max: '-5s', expected a duration ..."
  [[nodiscard]] std::string text() const;
};

// Reads one environment: every variable by name.
using Environment = std::map<std::string, std::string, std::less<>>;

// The environment of this process.
[[nodiscard]] Environment process_environment();

// The largest file that is read.
inline constexpr std::size_t kFileBytesMax = std::size_t{1024} * 1024;

// Settings from `yaml` (the content of a file called `file_name`; nullopt: no file) and
// `environment`. Stops at the first thing wrong: an unknown or doubled key, a wrong type, a
// duration that is negative, has no unit or is over 24 h, an address that cannot be one, a
// missing pod name, limits that contradict each other. Text is compared and kept as written,
// save that IP addresses are kept as Kubernetes spells them.
//
// An empty variable is an error, as an empty value in the file is; only those of pod.uid,
// pod.ips and pod.node then count as not set: the downward API gives them empty while they
// are unknown. An unknown LASTCALL_ variable is an error too, save those that Kubernetes
// itself sets for a Service whose name starts with lastcall (.._SERVICE_HOST, .._PORT_80_TCP).
[[nodiscard]] std::variant<Settings, ConfigError> load(std::optional<std::string_view> yaml,
                                                       std::string_view file_name,
                                                       const Environment& environment);

// As load(), reading the file at `path`; an empty path: no file.
[[nodiscard]] std::variant<Settings, ConfigError> load_file(const std::string& path,
                                                            const Environment& environment);

// One key, for the reference in docs/configuration.md.
struct KeyDoc {
  std::string_view key;      // "hold.max"
  std::string variable;      // "LASTCALL_HOLD_MAX"
  std::string_view form;     // "duration"
  std::string default_text;  // "3s", or words where it depends
  std::string_view meaning;  // one line
};

// Every key, in the order of the documentation.
[[nodiscard]] std::vector<KeyDoc> reference();

}  // namespace lastcall::config
