#include "agent/cli/policy.h"

namespace lastcall::agent {
namespace {

core::Source source(config::Source from) {
  switch (from) {
    case config::Source::kDefault:
      return core::Source::kDefault;
    case config::Source::kFile:
      return core::Source::kConfigFile;
    case config::Source::kEnvironment:
      return core::Source::kEnvironment;
  }
  return core::Source::kDefault;
}

// The same value with the same source, in core's types.
template <class To, class From>
core::Sourced<To> sourced(const config::Setting<From>& setting) {
  return {To(setting.value), source(setting.source)};
}

core::Thresholds thresholds_from(const config::Settings& settings) {
  using MaybeDuration = std::optional<core::Duration>;
  core::Thresholds thresholds;
  thresholds.settle = sourced<core::Duration>(settings.settle);
  thresholds.quiet = sourced<core::Duration>(settings.quiet);
  thresholds.blind = sourced<core::Duration>(settings.blind);
  thresholds.last_endpoint = {settings.last_endpoint.value == config::LastEndpoint::kIgnore
                                  ? core::LastEndpoint::kIgnore
                                  : core::LastEndpoint::kWait,
                              source(settings.last_endpoint.source)};
  thresholds.hold_min = sourced<core::Duration>(settings.hold_min);
  thresholds.hold_max = sourced<MaybeDuration>(settings.hold_max);
  thresholds.reserve = sourced<MaybeDuration>(settings.reserve);
  thresholds.drain_max = sourced<MaybeDuration>(settings.drain_max);
  return thresholds;
}

}  // namespace

core::Policy policy_from(const config::Settings& settings) {
  core::Policy policy;
  policy.thresholds = thresholds_from(settings);
  policy.drain_min = sourced<core::Duration>(settings.drain_min);
  policy.margin = sourced<core::Duration>(settings.margin);
  policy.silence = sourced<bool>(settings.silence);
  return policy;
}

}  // namespace lastcall::agent
