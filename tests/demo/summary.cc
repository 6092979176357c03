#include "tests/demo/summary.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>

namespace lastcall::demo {
namespace {

constexpr double kWorthTelling = 0.5;

double in_seconds(net::Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

double to_the_millisecond(double value) { return std::round(value * 1000) / 1000; }

std::string fixed(double value) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(1) << value;
  return text.str();
}

std::string losses(const Row& row) {
  if (row.failed == 0) return to_string(row.strategy) + " lost nothing";
  return to_string(row.strategy) + " lost " + std::to_string(row.failed) + " of " +
         std::to_string(row.sent) + " requests";
}

const Row* find(const std::vector<Row>& rows, PreStop pre_stop) {
  const auto it = std::find_if(rows.begin(), rows.end(), [pre_stop](const Row& row) {
    return row.strategy.pre_stop == pre_stop;
  });
  return it == rows.end() ? nullptr : &*it;
}

// What another strategy did worse; empty: nothing.
std::string compared(const Row& other, const Row& lastcall) {
  if (other.failed > lastcall.failed) {
    return losses(other) + ": its pods stopped after " + fixed(other.stop_seconds_p50) +
           " s, while the balancer still chose them.\n";
  }
  const double longer = other.stop_seconds_p50 - lastcall.stop_seconds_p50;
  if (longer < kWorthTelling) return "";
  return losses(other) + ", but each pod took " + fixed(longer) + " s longer than with lastcall.\n";
}

}  // namespace

Row summarize(const Recording& recording) {
  Row row{.strategy = recording.strategy,
          .sent = recording.samples.size(),
          .failed = recording.failed,
          .rollout_seconds =
              to_the_millisecond(in_seconds(recording.rollout_ended - recording.rollout_began))};
  std::vector<double> stops;
  for (const auto& pod : recording.pods) {
    if (pod.deleted && pod.gone) stops.push_back(in_seconds(*pod.gone - *pod.deleted));
  }
  std::sort(stops.begin(), stops.end());
  if (!stops.empty()) row.stop_seconds_p50 = to_the_millisecond(stops.at((stops.size() - 1) / 2));
  return row;
}

std::string table(const std::vector<Row>& rows) {
  std::ostringstream text;
  text << "strategy     failed / sent     share   pod stop p50   rollout\n";
  for (const Row& row : rows) {
    const std::string count = std::to_string(row.failed) + " / " + std::to_string(row.sent);
    text << std::left << std::setw(10) << to_string(row.strategy) << std::right << std::setw(16)
         << count << std::setw(8) << fixed(row.failed_percent()) << " %" << std::setw(13)
         << fixed(row.stop_seconds_p50) << " s" << std::setw(8) << fixed(row.rollout_seconds)
         << " s\n";
  }
  return text.str();
}

std::string to_json(const std::vector<Row>& rows) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    json.push_back({{"strategy", to_string(row.strategy)},
                    {"sent", row.sent},
                    {"failed", row.failed},
                    {"stop_seconds_p50", row.stop_seconds_p50},
                    {"rollout_seconds", row.rollout_seconds}});
  }
  return json.dump(2) + "\n";
}

std::string conclusion(const std::vector<Row>& rows) {
  const Row* const lastcall = find(rows, PreStop::kLastcall);
  if (lastcall == nullptr) return "";
  std::string text = losses(*lastcall) + ": each pod stayed " + fixed(lastcall->stop_seconds_p50) +
                     " s, until its agent saw that it could go.\n";
  for (const Row& row : rows) {
    if (&row != lastcall) text += compared(row, *lastcall);
  }
  return text;
}

bool is_lossless(const Recording& recording) {
  if (recording.strategy.pre_stop != PreStop::kLastcall) return true;
  return recording.failed == 0 &&
         std::all_of(recording.pods.begin(), recording.pods.end(), [](const PodLife& pod) {
           return !pod.old || pod.agent_hold_end == "all-gone";
         });
}

}  // namespace lastcall::demo
