// How the findings of `lastcall check` are shown.
#include <algorithm>
#include <array>
#include <utility>

#include "agent/cli/check.h"
#include "agent/serve/thresholds.h"
#include "config/duration.h"

namespace lastcall::agent {
namespace {

using serve::Json;

const char* word(Severity severity) {
  switch (severity) {
    case Severity::kNote:
      return "note";
    case Severity::kWarning:
      return "warning";
    case Severity::kFatal:
      return "fatal";
  }
  return "?";
}

const char* answer(const Permission& permission) {
  if (!permission.allowed) return "unknown";
  return *permission.allowed ? "yes" : "no";
}

using Row = std::vector<std::string>;

// Columns as wide as their widest cell, two spaces between them.
std::string table(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      line.append(widths[i] + 2 - row[i].size(), ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string shown(core::Duration value) {
  return config::format_duration(std::chrono::ceil<config::Milliseconds>(value));
}

struct ThresholdRow {
  const char* name;
  std::string value;
  std::string source;
};

std::array<ThresholdRow, 8> rows_of(const core::Thresholds& thresholds) {
  const auto plain = [](const char* name, const core::Sourced<core::Duration>& value) {
    return ThresholdRow{name, shown(value.value), std::string(to_string(value.source))};
  };
  const auto limit = [](const char* name, const auto& value, const char* otherwise) {
    return ThresholdRow{name, value.value ? shown(*value.value) : otherwise,
                        std::string(to_string(value.source))};
  };
  return {plain("settle", thresholds.settle),
          plain("quiet", thresholds.quiet),
          plain("blind", thresholds.blind),
          {"last-endpoint", std::string(to_string(thresholds.last_endpoint.value)),
           std::string(to_string(thresholds.last_endpoint.source))},
          plain("hold-min", thresholds.hold_min),
          limit("hold-max", thresholds.hold_max, "the deadline less the reserve"),
          limit("reserve", thresholds.reserve, "10s, or a third of the grace period"),
          limit("drain-max", thresholds.drain_max, "the deadline less the margin")};
}

void add(std::vector<Row>& rows, const std::string& name, const std::string& now,
         const core::Thresholds& thresholds) {
  bool first = true;
  for (const ThresholdRow& row : rows_of(thresholds)) {
    rows.push_back({first ? name : "", first ? now : "", row.name, row.value, row.source});
    first = false;
  }
}

Json consumer_json(const CheckedConsumer& consumer) {
  return {{"kind", consumer.id.kind},
          {"name", consumer.id.name},
          {"presence", consumer.presence ? Json(to_string(*consumer.presence)) : Json(nullptr)},
          {"detail", consumer.detail},
          {"thresholds", serve::thresholds_json(consumer.thresholds)}};
}

Json permission_json(const Permission& permission) {
  const k8s::AccessRule& rule = permission.rule;
  return {{"verb", rule.verb},
          {"group", rule.group},
          {"resource", rule.resource},
          {"namespace", rule.pod_namespace},
          {"purpose", permission.purpose},
          {"when_missing", word(permission.when_missing)},
          {"allowed", permission.allowed ? Json(*permission.allowed) : Json(nullptr)},
          {"reason", permission.reason}};
}

}  // namespace

std::string check_table(const CheckResult& result) {
  std::vector<Row> consumers{{"CONSUMER", "NOW", "THRESHOLD", "VALUE", "SOURCE"}};
  for (const CheckedConsumer& consumer : result.consumers) {
    const std::string now =
        consumer.presence ? std::string(to_string(*consumer.presence)) : "unseen";
    add(consumers, consumer.id.kind + " " + consumer.id.name, now, consumer.thresholds);
  }
  if (result.consumers.empty()) add(consumers, "(the pod)", "", result.policy.thresholds);

  std::vector<Row> permissions{{"PERMISSION", "ALLOWED", "WHEN MISSING", "FOR"}};
  for (const Permission& permission : result.permissions) {
    const k8s::AccessRule& rule = permission.rule;
    const std::string group = rule.group.empty() ? "" : "." + rule.group;
    permissions.push_back({rule.verb + " " + rule.resource + group, answer(permission),
                           word(permission.when_missing), permission.purpose});
  }

  std::string text = "pod " + result.pod + " at " + result.server + "\n\n" + table(consumers) +
                     "\n" + table(permissions) + "\n";
  if (const auto& budget = result.budget) {
    text += "grace period " + shown(budget->grace) + " = hold " + shown(budget->hold) +
            " + kept for the drain " + shown(budget->kept) + "; settle and quiet need " +
            shown(budget->settle_needs) + ", blind needs " + shown(budget->blind_needs) + "\n\n";
  }
  for (const CheckFinding& finding : result.findings) {
    text += std::string(word(finding.severity)) + ": " + finding.text + "\n";
  }
  if (result.findings.empty()) text += "fine\n";
  return text;
}

std::string check_json(const CheckResult& result) {
  Json consumers = Json::array();
  for (const auto& consumer : result.consumers) consumers.push_back(consumer_json(consumer));
  Json permissions = Json::array();
  for (const auto& permission : result.permissions) {
    permissions.push_back(permission_json(permission));
  }
  Json findings = Json::array();
  for (const CheckFinding& finding : result.findings) {
    findings.push_back({{"severity", word(finding.severity)}, {"text", finding.text}});
  }
  const Json json = {{"pod", result.pod},
                     {"server", result.server},
                     {"exit_code", exit_code(result)},
                     {"consumers", std::move(consumers)},
                     {"pod_thresholds", serve::thresholds_json(result.policy.thresholds)},
                     {"permissions", std::move(permissions)},
                     {"budget", serve::budget_json(result.budget)},
                     {"findings", std::move(findings)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace lastcall::agent
