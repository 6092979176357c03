// Bounded exponential backoff with jitter.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace lastcall::net {

// Delays double from `first` to `last`; each is drawn uniformly from the upper half, so that
// many agents started by one event spread out and none hammers.
class Backoff {
 public:
  Backoff(std::chrono::milliseconds first, std::chrono::milliseconds last)
      : first_(first), last_(last), next_(first) {}

  // The delay before the next attempt; `random` is uniformly distributed.
  [[nodiscard]] std::chrono::milliseconds next(std::uint32_t random) {
    const auto whole = next_.count();
    next_ = std::min(next_ * 2, last_);
    return std::chrono::milliseconds(whole - static_cast<std::int64_t>(random) % (whole / 2 + 1));
  }
  // After a success.
  void reset() { next_ = first_; }

 private:
  std::chrono::milliseconds first_;
  std::chrono::milliseconds last_;
  std::chrono::milliseconds next_;
};

}  // namespace lastcall::net
