// What lastcall-hook was asked to do.
#pragma once

#include <optional>
#include <string_view>
#include <variant>

#include "agent/hook/address.h"
#include "config/duration.h"

namespace lastcall::hook {

using config::Milliseconds;

// What a careful operator would have slept; the agent's default for what it cannot see.
inline constexpr Milliseconds kFallbackDefault = std::chrono::seconds(25);

struct WaitOptions {
  Address agent;
  std::optional<Milliseconds> timeout;  // nullopt: the kubelet's bound is the only one
  Milliseconds fallback = kFallbackDefault;
};

struct InstallOptions {
  const char* directory = nullptr;
};

struct VersionOptions {};
struct HelpOptions {};

// Why the command line cannot be followed: "<message>: <argument>".
struct UsageError {
  std::string_view message;
  std::string_view argument;  // empty when nothing was given
};

using Options = std::variant<WaitOptions, InstallOptions, VersionOptions, HelpOptions, UsageError>;

// `arguments` as main() gets them, the program's name included, null at the end.
// `agent_variable` is the value of LASTCALL_LISTEN_LOCAL, null when not set; --agent goes
// before it. The result refers to both.
[[nodiscard]] Options parse_options(const char* const* arguments, const char* agent_variable);

extern const std::string_view kHelp;

}  // namespace lastcall::hook
