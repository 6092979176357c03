// Watch frames: one JSON object per line (FACTS 1.3).
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

#include "k8s/padded_text.h"
#include "net/result.h"

namespace lastcall::k8s {

class LineFramer {
 public:
  // A line longer than this is kInvalid: a slice of 1000 endpoints is about 400 KB.
  static constexpr std::size_t kLineBytesMax = std::size_t{4} * 1024 * 1024;

  // Calls `on_line` for each complete, non-blank line; it returns false to stop (the framer
  // must not be used after that before reset()). Half a line is kept for the next chunk.
  [[nodiscard]] net::Status feed(std::string_view chunk,
                                 const std::function<bool(const PaddedText&)>& on_line);
  void reset();

 private:
  PaddedText line_;
};

}  // namespace lastcall::k8s
