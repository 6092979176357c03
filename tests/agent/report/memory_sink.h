// A log that tests can read.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "agent/report/log.h"

namespace lastcall::report {

class MemorySink final : public LogSink {
 public:
  void write(Level level, std::string_view line) override {
    lines_.emplace_back(level, nlohmann::json::parse(line));
  }
  [[nodiscard]] std::size_t size() const { return lines_.size(); }
  [[nodiscard]] Level level(std::size_t i) const { return lines_.at(i).first; }
  [[nodiscard]] const nlohmann::json& line(std::size_t i) const { return lines_.at(i).second; }

 private:
  std::vector<std::pair<Level, nlohmann::json>> lines_;
};

}  // namespace lastcall::report
