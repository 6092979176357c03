// What the runs come to, in figures.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tests/demo/recording.h"

namespace lastcall::demo {

struct Row {
  Strategy strategy;
  std::size_t sent = 0;
  std::size_t failed = 0;
  double stop_seconds_p50 = 0;  // from a DELETE to the end of the Pod object
  double rollout_seconds = 0;   // from the first new pod to the end of the last old one

  [[nodiscard]] double failed_percent() const {
    return sent == 0 ? 0 : 100.0 * static_cast<double>(failed) / static_cast<double>(sent);
  }
};

[[nodiscard]] Row summarize(const Recording& recording);

// For people, a line per row under a heading.
[[nodiscard]] std::string table(const std::vector<Row>& rows);
// [{"strategy":"none","sent":..,"failed":..,"stop_seconds_p50":..,"rollout_seconds":..},..]
[[nodiscard]] std::string to_json(const std::vector<Row>& rows);
// What the table shows, in sentences.
[[nodiscard]] std::string conclusion(const std::vector<Row>& rows);

// Whether no request failed that lastcall should have saved, and each of its holds ended
// because its agent saw that it might.
[[nodiscard]] bool is_lossless(const Recording& recording);

}  // namespace lastcall::demo
