// A YAML document flattened to "key, line, value(s)".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/settings.h"

namespace lastcall::config {

struct Entry {
  std::string key;  // one of the known keys
  int line = 0;     // of the key, from 1
  bool is_list = false;
  std::vector<std::string> values;  // exactly one unless is_list
};

// The entries of `yaml` in their order. A dot in a key is a level of nesting: "hold: {max: 5s}"
// and "hold.max: 5s" say the same. `keys` are the known ones; an entry of another key is an
// error, which also bounds the depth.
//
// Errors: over kFileBytesMax, not UTF-8, control characters, not YAML, more than one
// document, not a map, unknown or doubled keys, a key without a value, a map where a value is
// expected or the other way round, tags and aliases. An empty document has no entries.
[[nodiscard]] std::variant<std::vector<Entry>, ConfigError> read_document(
    std::string_view yaml, std::string_view file_name, const std::vector<std::string_view>& keys);

}  // namespace lastcall::config
