// The annotations of an object that are meant for us. Internal to k8s/.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "config/annotations.h"
#include "k8s/json_walk.h"

namespace lastcall::k8s {

// Adds those whose key starts with config::kAnnotationPrefix. Others can be large (the last
// applied manifest), and nobody here wants them.
inline bool read_our_annotations(JsonWalk& walk, JsonWalk::Value value,
                                 std::map<std::string, std::string>& out) {
  return walk.strings(value, "metadata.annotations",
                      [&out](std::string_view key, std::string_view text) {
                        if (!key.starts_with(config::kAnnotationPrefix)) return;
                        out.insert_or_assign(std::string(key), text);
                      });
}

}  // namespace lastcall::k8s
