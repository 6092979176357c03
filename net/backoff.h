// Bounded exponential backoff with jitter.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

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
  // The same, but no sooner than the server asked for.
  [[nodiscard]] std::chrono::milliseconds next(
      std::uint32_t random, std::optional<std::chrono::milliseconds> retry_after) {
    return std::max(next(random), retry_after.value_or(std::chrono::milliseconds(0)));
  }
  // After a success.
  void reset() { next_ = first_; }

 private:
  std::chrono::milliseconds first_;
  std::chrono::milliseconds last_;
  std::chrono::milliseconds next_;
};

}  // namespace lastcall::net
