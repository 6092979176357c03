// One frame of a WATCH. Internal to k8s/.
#pragma once

#include <cstdint>
#include <string_view>

#include <simdjson.h>

#include "k8s/padded_text.h"
#include "net/result.h"

namespace lastcall::k8s {

// Views into the frame and the parser, valid until either has the next one.
struct WatchEvent {
  std::string_view type;              // ADDED, MODIFIED, DELETED, BOOKMARK, ERROR
  std::string_view object;            // its JSON
  std::string_view resource_version;  // object.metadata.resourceVersion
  std::int64_t status_code = 0;       // object.code, when it is a Status
};

// kInvalid: not JSON, or without a type or an object.
[[nodiscard]] net::Result<WatchEvent> parse_watch_event(simdjson::ondemand::parser& parser,
                                                        const PaddedText& line);

}  // namespace lastcall::k8s
