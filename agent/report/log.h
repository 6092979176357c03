// What people read: one JSON object per line, one line per decision, saying why.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "net/loop.h"

namespace lastcall::report {

enum class Level { kDebug, kInfo, kWarn, kError };

// Where lines go: standard error in production, a buffer in tests.
class LogSink {
 public:
  virtual ~LogSink() = default;
  // `line` is one JSON object without a line break.
  virtual void write(Level level, std::string_view line) = 0;
};

// Lines to standard error by spdlog, synchronously, from `least` on.
class StderrSink final : public LogSink {
 public:
  explicit StderrSink(Level least);
  void write(Level level, std::string_view line) override;
};

class Log {
 public:
  using Value = std::variant<std::string_view, std::int64_t, double, bool>;
  using Fields = std::vector<std::pair<std::string_view, Value>>;

  // Both must outlive the log.
  Log(net::Loop& loop, LogSink& sink) : loop_(loop), sink_(sink) {}

  // {"time":"2026-01-02T03:04:05.678Z","level":"info","event":EVENT,...fields}. Bytes that
  // are not UTF-8 are replaced.
  void write(Level level, std::string_view event, const Fields& fields);

 private:
  net::Loop& loop_;
  LogSink& sink_;
};

}  // namespace lastcall::report
