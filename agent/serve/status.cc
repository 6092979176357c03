#include "agent/serve/status.h"

#include <optional>

#include "agent/serve/thresholds.h"

namespace lastcall::serve {
namespace {

Json relative(std::optional<core::Instant> at, core::Instant now) {
  return at ? Json(core::in_seconds(*at - now)) : Json(nullptr);
}

template <class Word>
Json word(const std::optional<Word>& value) {
  return value ? Json(core::to_string(*value)) : Json(nullptr);
}

Json consumer_json(const core::ConsumerState& consumer, core::Instant now) {
  return {{"kind", consumer.id.kind},
          {"name", consumer.id.name},
          {"presence", core::to_string(consumer.presence)},
          {"detail", consumer.detail},
          {"withdrawn", relative(consumer.withdrawn_at, now)},
          {"gone", relative(consumer.gone_at, now)},
          {"gone_by", word(consumer.gone_by)},
          {"thresholds", thresholds_json(consumer.thresholds)}};
}

}  // namespace

std::string status_json(const core::Snapshot& snapshot, const Identity& identity,
                        const Findings& findings, core::Instant now) {
  Json consumers = Json::array();
  for (const core::ConsumerState& consumer : snapshot.consumers) {
    consumers.push_back(consumer_json(consumer, now));
  }
  Json still_there = Json::array();
  for (const core::ConsumerId& id : snapshot.still_there) {
    still_there.push_back(id.kind + " " + id.name);
  }
  Json ignored = Json::array();
  for (const Findings::Ignored& one : findings.ignored) {
    ignored.push_back({{"service", one.service}, {"why", one.why}});
  }
  Json malformed = Json::array();
  for (const Findings::Malformed& one : findings.malformed) {
    malformed.push_back(
        {{"object", one.object}, {"key", one.key}, {"value", one.value}, {"error", one.error}});
  }
  const Json status = {{"pod", identity.pod_namespace + "/" + identity.pod_name},
                       {"version", identity.version},
                       {"phase", core::to_string(snapshot.phase)},
                       {"trigger", word(snapshot.trigger)},
                       {"hold_started", relative(snapshot.hold_started, now)},
                       {"drain_started", relative(snapshot.drain_started, now)},
                       {"released", relative(snapshot.released, now)},
                       {"hold_end", word(snapshot.hold_end)},
                       {"drain_end", word(snapshot.drain_end)},
                       {"limit", relative(snapshot.limit, now)},
                       {"deadline", relative(snapshot.deadline, now)},
                       {"deadline_proven", snapshot.deadline_proven},
                       {"hooks_waiting", snapshot.hooks_waiting},
                       {"consumers", std::move(consumers)},
                       {"still_there", std::move(still_there)},
                       {"budget", budget_json(snapshot.budget)},
                       {"ignored", std::move(ignored)},
                       {"malformed_annotations", std::move(malformed)}};
  return status.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace lastcall::serve
