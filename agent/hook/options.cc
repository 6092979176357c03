#include "agent/hook/options.h"

namespace lastcall::hook {

const std::string_view kHelp =
    R"(lastcall-hook: holds a container's stop until the lastcall agent releases the pod.

Usage:
  lastcall-hook wait [--agent ADDR] [--timeout D] [--fallback D]
      For preStop.exec. Asks the agent to hold and waits for its answer.
      --agent ADDR    the agent's local listener: IPv4:PORT, [IPv6]:PORT or unix:/PATH
                      (default: $LASTCALL_LISTEN_LOCAL, else 127.0.0.1:19101)
      --timeout D     stop waiting so long after the start, whatever the agent says
                      (default: never; the kubelet ends the wait with the grace period)
      --fallback D    while the agent cannot be reached, keep trying until so long after
                      the start, then let the container stop as after a plain sleep
                      (default: 25s). An agent that is lost later than that has 5s, or D
                      if that is less, to come back, once.
  lastcall-hook install DIR
      Copies this program to DIR/lastcall-hook, replacing what is there in one step.
  lastcall-hook version
  lastcall-hook --help

Durations: 300ms, 5s, 2m, 1m30s.

Exit codes:
  0    wait: released by the agent, --timeout is over, or fallen back to a plain sleep:
       a failing preStop hook would stop the container at once
       others: done
  1    install failed
  2    the command line or LASTCALL_LISTEN_LOCAL cannot be understood
  143  ended by SIGTERM
)";

namespace {

constexpr std::string_view kAgentDefault = "127.0.0.1:19101";

// Takes the value of option `name` off `arguments`, from "--name value" or "--name=value".
// False when it is another option; `value` stays null when the value is missing.
bool take_option(const char* const*& arguments, std::string_view name, const char*& value) {
  const std::string_view argument(*arguments);
  if (!argument.starts_with(name)) return false;
  if (argument.size() > name.size()) {
    if (argument[name.size()] != '=') return false;
    value = *arguments + name.size() + 1;
  } else if (arguments[1] != nullptr) {
    value = *++arguments;
  }
  ++arguments;
  return true;
}

Options parse_wait(const char* const* arguments, const char* agent_variable) {
  WaitOptions options;
  const char* agent = nullptr;
  while (*arguments != nullptr) {
    const char* value = nullptr;
    const std::string_view option(*arguments);
    if (option == "--help" || option == "-h") return HelpOptions{};
    if (take_option(arguments, "--agent", agent)) {
      if (agent == nullptr) return UsageError{"--agent needs an address", {}};
      continue;
    }
    const bool is_timeout = take_option(arguments, "--timeout", value);
    if (!is_timeout && !take_option(arguments, "--fallback", value)) {
      return UsageError{"unknown argument of wait", option};
    }
    if (value == nullptr) return UsageError{"a duration is missing after", option};
    const std::optional<Milliseconds> duration = config::parse_duration(value);
    if (!duration) return UsageError{"not a duration such as 300ms, 5s or 2m", value};
    if (is_timeout) {
      options.timeout = *duration;
    } else {
      options.fallback = *duration;
    }
  }
  const std::string_view text = agent != nullptr            ? std::string_view(agent)
                                : agent_variable != nullptr ? std::string_view(agent_variable)
                                                            : kAgentDefault;
  const std::optional<Address> address = parse_address(text);
  if (!address) return UsageError{"not an agent's address such as 127.0.0.1:19101", text};
  options.agent = *address;
  return options;
}

Options parse_install(const char* const* arguments) {
  if (*arguments == nullptr) return UsageError{"install needs a directory", {}};
  const std::string_view directory(*arguments);
  if (directory == "--help" || directory == "-h") return HelpOptions{};
  if (directory.empty() || directory.front() == '-') {
    return UsageError{"not a directory to install into", directory};
  }
  if (arguments[1] != nullptr) return UsageError{"unknown argument of install", arguments[1]};
  return InstallOptions{*arguments};
}

}  // namespace

Options parse_options(const char* const* arguments, const char* agent_variable) {
  if (arguments[0] == nullptr || arguments[1] == nullptr) {
    return UsageError{"a command is missing: wait, install, version or --help", {}};
  }
  const std::string_view command(arguments[1]);
  if (command == "wait") return parse_wait(arguments + 2, agent_variable);
  if (command == "install") return parse_install(arguments + 2);
  if (command != "version" && command != "--help" && command != "-h") {
    return UsageError{"unknown command", command};
  }
  if (arguments[2] != nullptr) return UsageError{"unknown argument", arguments[2]};
  if (command == "version") return VersionOptions{};
  return HelpOptions{};
}

}  // namespace lastcall::hook
