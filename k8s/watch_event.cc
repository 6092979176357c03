#include "k8s/watch_event.h"

#include "k8s/json_walk.h"

namespace lastcall::k8s {
namespace {

// Anything but a Status may have a "code" of another type.
void read_code(JsonWalk::Value value, std::int64_t& code) {
  if (value.get_int64().get(code)) code = 0;
}

}  // namespace

net::Result<WatchEvent> parse_watch_event(simdjson::ondemand::parser& parser,
                                          const PaddedText& line) {
  WatchEvent event;
  JsonWalk walk(parser);
  const auto in_metadata = [&](JsonWalk::Key key, JsonWalk::Value value) {
    if (key != "resourceVersion") return true;
    return walk.string(value, "object.metadata.resourceVersion", event.resource_version);
  };
  const auto in_object = [&](JsonWalk::Key key, JsonWalk::Value value) {
    if (key == "metadata") return walk.object(value, "object.metadata", in_metadata);
    if (key == "code") read_code(value, event.status_code);
    return true;
  };
  const auto in_event = [&](JsonWalk::Key key, JsonWalk::Value value) {
    if (key == "type") return walk.string(value, "type", event.type);
    if (key == "object") return walk.raw_object(value, "object", event.object, in_object);
    return true;
  };
  if (!walk.document(line, in_event)) return walk.error("watch event");
  if (event.type.empty()) walk.misfit("type", "there");
  if (event.object.empty()) walk.misfit("object", "there");
  if (event.type.empty() || event.object.empty()) return walk.error("watch event");
  return event;
}

}  // namespace lastcall::k8s
