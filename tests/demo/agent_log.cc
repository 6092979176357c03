#include "tests/demo/agent_log.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "k8s/time.h"

namespace lastcall::demo {
namespace {

using Json = nlohmann::json;

std::string text(const Json& line, const char* key) {
  const auto it = line.find(key);
  return it != line.end() && it->is_string() ? it->get<std::string>() : "";
}

}  // namespace

AgentStory read_agent_log(std::string_view log) {
  AgentStory story;
  while (!log.empty()) {
    const auto end = std::min(log.find('\n'), log.size());
    const Json line = Json::parse(log.substr(0, end), nullptr, false);
    log.remove_prefix(std::min(end + 1, log.size()));
    if (!line.is_object() || text(line, "event") != "phase") continue;
    if (text(line, "phase") != "released") continue;
    story.released = k8s::parse_rfc3339(text(line, "time"));
    story.hold_end = text(line, "hold_end");
  }
  return story;
}

}  // namespace lastcall::demo
