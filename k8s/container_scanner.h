// Finds where one JSON object or array ends, without parsing it.
//
// Internal to k8s/.
#pragma once

#include <cstddef>
#include <string_view>

namespace lastcall::k8s {

// Counts brackets outside of strings, 64 bytes at a time. Does not tell braces from
// brackets: what is inside is for a parser to judge.
class ContainerScanner {
 public:
  static constexpr int kDepthMax = 64;

  enum class Outcome { kMore, kEnd, kTooDeep };
  struct Progress {
    std::size_t bytes;  // how many belong to the container; fewer than fed at kEnd only
    Outcome outcome;
  };

  // The next byte fed opens a new container.
  void begin() { *this = ContainerScanner(); }

  // Requires: begin() before the first byte, and none after kEnd or kTooDeep without it.
  [[nodiscard]] Progress feed(std::string_view bytes);

 private:
  int depth_ = 0;
  bool in_string_ = false;
  bool escape_ = false;  // the next byte is escaped by a backslash
};

}  // namespace lastcall::k8s
