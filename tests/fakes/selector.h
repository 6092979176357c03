// Label and field selectors as the API server reads them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fakes/kube_objects.h"

namespace lastcall::fakes {

// A conjunction of `key`, `key=value`, `key==value`, `key in (a,b)`.
class Selector {
 public:
  // nullopt: not of this form.
  [[nodiscard]] static std::optional<Selector> parse(std::string_view text);

  [[nodiscard]] bool matches(const Labels& labels) const;

 private:
  struct Requirement {
    std::string key;
    std::vector<std::string> values;  // empty: any
  };
  static std::optional<Requirement> parse_one(std::string_view text);

  std::vector<Requirement> requirements_;
};

}  // namespace lastcall::fakes
