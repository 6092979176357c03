// Every draw of a simulation comes from one seed.
#pragma once

#include <chrono>
#include <cstdint>

#include "net/loop.h"

namespace lastcall::fakes {

// SplitMix64 (Steele, Lea, Flood 2014): the same numbers on every platform.
class RandomSource {
 public:
  explicit RandomSource(std::uint64_t seed) : state_(seed) {}

  [[nodiscard]] std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }
  // In [0, bound). Requires: bound > 0.
  [[nodiscard]] std::uint64_t below(std::uint64_t bound) { return next() % bound; }
  [[nodiscard]] bool chance(double probability) {
    return static_cast<double>(next() >> 11U) * 0x1p-53 < probability;
  }
  // In [least, most].
  [[nodiscard]] net::Duration between(net::Duration least, net::Duration most) {
    const auto span = static_cast<std::uint64_t>((most - least).count()) + 1;
    return least + net::Duration(static_cast<std::int64_t>(below(span)));
  }

 private:
  std::uint64_t state_;
};

}  // namespace lastcall::fakes
