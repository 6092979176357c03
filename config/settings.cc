#include "config/settings.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "config/document.h"
#include "config/forms.h"
#include "config/wording.h"

namespace lastcall::config {
namespace {

constexpr std::string_view kVariablePrefix = "LASTCALL_";
constexpr std::string_view kFromEnvironment = "environment";
// A pod has one address per family; more than a handful is not a pod's list.
constexpr std::size_t kPodIpsMax = 16;

// What was said for one key, by a line of the file or by a variable.
struct Said {
  Source source = Source::kFile;
  bool is_list = false;
  std::vector<std::string> values;
};

// What is wrong with it; nullopt: nothing, and `settings` now holds it.
using Complaint = std::optional<std::string>;

template <auto kMember, class Form>
Complaint set_value(const Said& said, Settings& settings) {
  if (said.is_list) return "a list, expected " + std::string(Form::kExpected);
  auto value = Form::parse(said.values.front());
  if (!value) return not_expected(said.values.front(), Form::kExpected);
  (settings.*kMember).value = *std::move(value);
  (settings.*kMember).source = said.source;
  return std::nullopt;
}

std::vector<std::string> split_at_commas(std::string_view text) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t comma = text.find(',');
    parts.emplace_back(text.substr(0, comma));
    if (comma == text.npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

// A list has a notation of its own in the file; a variable separates by commas.
template <auto kMember, class Form>
Complaint set_list(const Said& said, Settings& settings) {
  if (said.source == Source::kFile && !said.is_list) {
    return not_expected(said.values.front(), "a list such as [10.0.0.7, fd00::7]");
  }
  std::vector<std::string> list;
  for (const std::string& text :
       said.is_list ? said.values : split_at_commas(said.values.front())) {
    auto value = Form::parse(text);
    if (!value) return not_expected(text, Form::kExpected);
    list.push_back(*std::move(value));
  }
  if (list.size() > kPodIpsMax) return "more than " + std::to_string(kPodIpsMax) + " addresses";
  (settings.*kMember).value = std::move(list);
  (settings.*kMember).source = said.source;
  return std::nullopt;
}

template <auto kMember, class Form>
std::string show_default() {
  return Form::show((Settings{}.*kMember).value);
}

struct Key {
  std::string_view name;
  std::string_view form;
  Complaint (*set)(const Said&, Settings&);
  std::string (*show_default)();  // null: default_words says it
  std::string_view default_words;
  std::string_view meaning;
  bool may_be_empty = false;  // an empty variable counts as not set
};

// A key whose built-in default is a value.
template <auto kMember, class Form>
constexpr Key value(std::string_view name, std::string_view meaning) {
  return {name, Form::kName, set_value<kMember, Form>, show_default<kMember, Form>, {}, meaning};
}

// A key whose default is not a value of its form.
template <auto kMember, class Form>
constexpr Key value_or(std::string_view name, std::string_view default_words,
                       std::string_view meaning) {
  return {name, Form::kName, set_value<kMember, Form>, nullptr, default_words, meaning};
}

template <auto kMember, class Form>
constexpr Key list_or(std::string_view name, std::string_view default_words,
                      std::string_view meaning) {
  return {name, Form::kName, set_list<kMember, Form>, nullptr, default_words, meaning};
}

constexpr Key from_downward_api(Key key) {
  key.may_be_empty = true;
  return key;
}

using S = Settings;
constexpr std::string_view kFromPod = "from the Pod object";

constexpr std::array kKeys{
    value_or<&S::pod_name, SubdomainForm>(  //
        "pod.name", "required", "The pod this agent runs in (`metadata.name`)."),
    value_or<&S::pod_namespace, LabelForm>(  //
        "pod.namespace", "required", "Its namespace (`metadata.namespace`)."),
    from_downward_api(value_or<&S::pod_uid, UidForm>(  //
        "pod.uid", kFromPod, "Its UID (`metadata.uid`).")),
    from_downward_api(list_or<&S::pod_ips, IpForm>(  //
        "pod.ips", kFromPod,
        "Its addresses (`status.podIPs`); commas between them in the variable.")),
    from_downward_api(value_or<&S::node_name, SubdomainForm>(  //
        "pod.node", kFromPod, "The node it runs on (`spec.nodeName`).")),
    value_or<&S::kubernetes_server, UrlForm>(  //
        "kubernetes.server", "in-cluster",
        "The API server; in-cluster is `KUBERNETES_SERVICE_HOST` and `_PORT`."),
    value<&S::kubernetes_token_file, PathForm>(  //
        "kubernetes.token-file", "The service account's token."),
    value<&S::kubernetes_ca_file, PathForm>(  //
        "kubernetes.ca-file", "The certificate authority of the API server."),
    value<&S::listen_pod, ListenForm>(  //
        "listen.pod", "Where the kubelet, Prometheus and load balancers reach the agent."),
    value<&S::listen_local, LocalListenForm>(  //
        "listen.local", "Where this pod's containers reach it; also takes drain and release."),
    value<&S::settle, DurationForm>(  //
        "settle", "How long a withdrawal must stand before its consumer counts as gone."),
    value<&S::quiet, DurationForm>(  //
        "quiet", "How long no new connection and no inbound byte must have come."),
    value<&S::blind, DurationForm>(  //
        "blind", "How long to hold for a consumer that cannot be seen."),
    value<&S::last_endpoint, LastEndpointForm>(  //
        "last-endpoint", "Whether to hold while no other endpoint is ready."),
    value<&S::silence, BooleanForm>(  //
        "silence", "Whether conclusive silence may end a settle early."),
    value<&S::watch_pod, BooleanForm>(  //
        "watch-pod", "Whether the own Pod is watched from the start, not only while holding."),
    value<&S::endpoints, BooleanForm>(  //
        "endpoints", "Whether legacy Endpoints are observed beside EndpointSlices."),
    value<&S::hold_min, DurationForm>(  //
        "hold.min", "The shortest hold."),
    value_or<&S::hold_max, DurationForm>(  //
        "hold.max", "the deadline less the reserve", "The longest hold."),
    value<&S::drain_min, DurationForm>(  //
        "drain.min", "The shortest drain."),
    value_or<&S::drain_max, DurationForm>(  //
        "drain.max", "the deadline less the margin", "The longest drain."),
    value_or<&S::reserve, DurationForm>(  //
        "reserve", "10s, or a third of the grace period if that is less",
        "The part of the grace period that the hold may never spend."),
    value<&S::margin, DurationForm>(  //
        "margin", "How long before the deadline everything is released."),
    value<&S::log_level, LogLevelForm>(  //
        "log.level", "What is logged: this and what is worse."),
};

std::vector<std::string_view> key_names() {
  std::vector<std::string_view> names;
  names.reserve(kKeys.size());
  for (const Key& key : kKeys) names.push_back(key.name);
  return names;
}

std::string variable_of(std::string_view key) {
  std::string variable(kVariablePrefix);
  for (const char c : key) {
    const bool is_lower = c >= 'a' && c <= 'z';
    variable += is_lower ? static_cast<char>(c - 'a' + 'A') : '_';
  }
  return variable;
}

// Kubernetes gives every container these variables for each Service of its namespace
// (kubelet/envvars): a Service "lastcall" or "lastcall-x" makes some that look like ours.
bool is_service_variable(std::string_view name) {
  for (const std::string_view end : {"_SERVICE_HOST", "_SERVICE_PORT", "_PORT"}) {
    if (name.ends_with(end)) return true;
  }
  if (name.find("_SERVICE_PORT_") != name.npos) return true;
  for (const std::string_view protocol : {"_TCP", "_UDP", "_SCTP"}) {
    std::string_view start = name;
    for (const std::string_view end : {"_PROTO", "_ADDR"}) {
      if (start.ends_with(end)) start.remove_suffix(end.size());
    }
    if (start.ends_with(protocol) && start.find("_PORT_") != start.npos) return true;
  }
  return false;
}

// Where each key was last said, by the name of the key.
using Places = std::map<std::string_view, std::string>;

std::optional<ConfigError> apply_file(std::string_view yaml, std::string_view file_name,
                                      Settings& settings, Places& places) {
  auto document = read_document(yaml, file_name, key_names());
  if (auto* error = std::get_if<ConfigError>(&document)) return std::move(*error);
  for (Entry& entry : std::get<std::vector<Entry>>(document)) {
    std::string where = std::string(file_name) + ":" + std::to_string(entry.line);
    for (const Key& key : kKeys) {
      if (key.name != entry.key) continue;
      const Said said{Source::kFile, entry.is_list, std::move(entry.values)};
      if (Complaint complaint = key.set(said, settings)) {
        return ConfigError{std::move(where), entry.key, *std::move(complaint)};
      }
      places[key.name] = std::move(where);
      break;
    }
  }
  return std::nullopt;
}

std::optional<ConfigError> refuse_unknown_variables(const Environment& environment) {
  std::vector<std::string> known;
  known.reserve(kKeys.size());
  for (const Key& key : kKeys) known.push_back(variable_of(key.name));
  const std::vector<std::string_view> candidates(known.begin(), known.end());
  for (auto it = environment.lower_bound(kVariablePrefix);
       it != environment.end() && it->first.starts_with(kVariablePrefix); ++it) {
    const std::string& name = it->first;
    if (is_service_variable(name)) continue;
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    return ConfigError{std::string(kFromEnvironment), printable(name),
                       unknown("variable", name, candidates)};
  }
  return std::nullopt;
}

std::optional<ConfigError> apply_environment(const Environment& environment, Settings& settings,
                                             Places& places) {
  for (const Key& key : kKeys) {
    std::string variable = variable_of(key.name);
    const auto found = environment.find(variable);
    if (found == environment.end()) continue;
    if (found->second.empty() && key.may_be_empty) continue;
    const Said said{Source::kEnvironment, false, {found->second}};
    if (Complaint complaint = key.set(said, settings)) {
      return ConfigError{std::string(kFromEnvironment), std::move(variable), *std::move(complaint)};
    }
    places[key.name] = kFromEnvironment;
  }
  return refuse_unknown_variables(environment);
}

// `lesser` must not be over `greater`. Names the place of the one that was said, and of the
// other when both were.
std::optional<ConfigError> check_order(std::string_view lesser, Milliseconds lesser_value,
                                       std::string_view greater,
                                       std::optional<Milliseconds> greater_value,
                                       const Places& places) {
  if (!greater_value || lesser_value <= *greater_value) return std::nullopt;
  const auto said = places.find(lesser);
  const auto other = places.find(greater);
  std::string message = format_duration(lesser_value) + " is longer than " + std::string(greater) +
                        ", which is " + format_duration(*greater_value);
  if (said == places.end()) {
    return ConfigError{other->second, std::string(lesser), std::move(message)};
  }
  if (other != places.end()) message += " (" + other->second + ")";
  return ConfigError{said->second, std::string(lesser), std::move(message)};
}

std::optional<ConfigError> check_whole(const Settings& settings, const Places& places) {
  for (const std::string_view required : {"pod.name", "pod.namespace"}) {
    if (places.contains(required)) continue;
    return ConfigError{std::string(kFromEnvironment), variable_of(required),
                       "not set, expected metadata." + std::string(required.substr(4)) +
                           " from the downward API (or " + std::string(required) + " in the file)"};
  }
  if (auto error = check_order("hold.min", settings.hold_min.value, "hold.max",
                               settings.hold_max.value, places)) {
    return error;
  }
  if (auto error = check_order("drain.min", settings.drain_min.value, "drain.max",
                               settings.drain_max.value, places)) {
    return error;
  }
  // The hold would end after the drain.
  return check_order("margin", settings.margin.value, "reserve", settings.reserve.value, places);
}

// The bytes of the file, at most one more than may be read.
std::variant<std::string, ConfigError> read_file(const std::string& path) {
  const auto failed = [&path](int error) {
    return ConfigError{path, "", "cannot be read: " + std::generic_category().message(error)};
  };
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return failed(errno);
  std::string content(kFileBytesMax + 1, '\0');
  std::size_t size = 0;
  while (size < content.size()) {
    const ssize_t count = read(fd, content.data() + size, content.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const int error = errno;
      close(fd);
      return failed(error);
    }
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
  }
  close(fd);
  content.resize(size);
  return content;
}

}  // namespace

std::string_view to_string(Source source) {
  switch (source) {
    case Source::kDefault:
      return "default";
    case Source::kFile:
      return "file";
    case Source::kEnvironment:
      break;
  }
  return "environment";
}

std::string ConfigError::text() const {
  std::string text = where + ": ";
  if (!key.empty()) text += key + ": ";
  return text + message;
}

Environment process_environment() {
  Environment result;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals == text.npos) continue;
    result.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return result;
}

std::variant<Settings, ConfigError> load(std::optional<std::string_view> yaml,
                                         std::string_view file_name,
                                         const Environment& environment) {
  Settings settings;
  Places places;
  if (yaml) {
    if (auto error = apply_file(*yaml, file_name, settings, places)) return *std::move(error);
  }
  if (auto error = apply_environment(environment, settings, places)) return *std::move(error);
  if (auto error = check_whole(settings, places)) return *std::move(error);
  return settings;
}

std::variant<Settings, ConfigError> load_file(const std::string& path,
                                              const Environment& environment) {
  if (path.empty()) return load(std::nullopt, path, environment);
  auto content = read_file(path);
  if (auto* error = std::get_if<ConfigError>(&content)) return std::move(*error);
  return load(std::get<std::string>(content), path, environment);
}

std::vector<KeyDoc> reference() {
  std::vector<KeyDoc> docs;
  docs.reserve(kKeys.size());
  for (const Key& key : kKeys) {
    docs.push_back(
        {key.name, variable_of(key.name), key.form,
         key.show_default != nullptr ? key.show_default() : std::string(key.default_words),
         key.meaning});
  }
  return docs;
}

}  // namespace lastcall::config
