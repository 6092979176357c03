#include "agent/report/log.h"

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace lastcall::report {
namespace {

std::string_view to_string(Level level) {
  switch (level) {
    case Level::kDebug:
      return "debug";
    case Level::kInfo:
      return "info";
    case Level::kWarn:
      return "warn";
    case Level::kError:
      return "error";
  }
  return "?";
}

spdlog::level::level_enum to_spdlog(Level level) {
  switch (level) {
    case Level::kDebug:
      return spdlog::level::debug;
    case Level::kInfo:
      return spdlog::level::info;
    case Level::kWarn:
      return spdlog::level::warn;
    case Level::kError:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

std::string rfc3339(net::WallTime time) {
  using std::chrono::milliseconds;
  using std::chrono::seconds;
  const auto whole = std::chrono::floor<seconds>(time);
  const auto millis = std::chrono::duration_cast<milliseconds>(time - whole).count();
  const std::time_t clock = net::WallTime::clock::to_time_t(whole);
  std::tm utc{};
  gmtime_r(&clock, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", utc.tm_year + 1900,
                     utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec, millis);
}

}  // namespace

StderrSink::StderrSink(Level least) {
  auto logger = std::make_shared<spdlog::logger>("lastcall",
                                                 std::make_shared<spdlog::sinks::stderr_sink_st>());
  logger->set_pattern("%v");
  logger->set_level(to_spdlog(least));
  spdlog::set_default_logger(std::move(logger));
}

void StderrSink::write(Level level, std::string_view line) {
  spdlog::log(to_spdlog(level), spdlog::string_view_t(line.data(), line.size()));
}

void Log::write(Level level, std::string_view event, const Fields& fields) {
  using Json = nlohmann::ordered_json;
  Json line = {{"time", rfc3339(loop_.wall_now())}, {"level", to_string(level)}, {"event", event}};
  for (const auto& [name, value] : fields) {
    std::visit([&line, &name = name](const auto& v) { line[std::string(name)] = v; }, value);
  }
  sink_.write(level, line.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace lastcall::report
