#include "agent/serve/thresholds.h"

namespace lastcall::serve {
namespace {

Json shown(core::Duration value) { return Json::object({{"seconds", core::in_seconds(value)}}); }
// Without a value the deadline decides.
Json shown(const std::optional<core::Duration>& value) {
  return Json::object({{"seconds", value ? Json(core::in_seconds(*value)) : Json(nullptr)}});
}
Json shown(core::LastEndpoint value) { return Json::object({{"value", core::to_string(value)}}); }

template <class T>
Json threshold(const core::Sourced<T>& threshold) {
  Json json = shown(threshold.value);
  json["source"] = core::to_string(threshold.source);
  return json;
}

}  // namespace

Json thresholds_json(const core::Thresholds& thresholds) {
  return {{"settle", threshold(thresholds.settle)},
          {"quiet", threshold(thresholds.quiet)},
          {"blind", threshold(thresholds.blind)},
          {"last_endpoint", threshold(thresholds.last_endpoint)},
          {"hold_min", threshold(thresholds.hold_min)},
          {"hold_max", threshold(thresholds.hold_max)},
          {"reserve", threshold(thresholds.reserve)},
          {"drain_max", threshold(thresholds.drain_max)}};
}

Json budget_json(const std::optional<core::Budget>& budget) {
  if (!budget) return nullptr;
  return {{"grace", core::in_seconds(budget->grace)},
          {"kept", core::in_seconds(budget->kept)},
          {"hold", core::in_seconds(budget->hold)},
          {"settle_and_quiet_need", core::in_seconds(budget->settle_needs)},
          {"blind_needs", core::in_seconds(budget->blind_needs)},
          {"grace_needed", core::in_seconds(budget->grace_needed)}};
}

}  // namespace lastcall::serve
