#include "k8s/line_framer.h"

#include <algorithm>

namespace lastcall::k8s {
namespace {

constexpr std::size_t kBytesKept = std::size_t{512} * 1024;

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

}  // namespace

net::Status LineFramer::feed(std::string_view chunk,
                             const std::function<bool(const PaddedText&)>& on_line) {
  while (!chunk.empty()) {
    const std::size_t end = chunk.find('\n');
    const std::string_view part = chunk.substr(0, end);
    if (part.size() > kLineBytesMax - line_.size()) {
      return net::Error{net::ErrorCode::kInvalid,
                        "a line is longer than " + std::to_string(kLineBytesMax) + " bytes",
                        std::nullopt};
    }
    line_.append(part);
    if (end == std::string_view::npos) break;
    chunk.remove_prefix(end + 1);
    if (!is_blank(line_.view()) && !on_line(line_)) return net::Done{};
    line_.clear();
  }
  return net::Done{};
}

void LineFramer::reset() {
  line_.clear();
  line_.shrink(kBytesKept);
}

}  // namespace lastcall::k8s
