// What a grace period leaves for the hold, and whether the thresholds fit into it.
#pragma once

#include "agent/core/drain.h"

namespace lastcall::core {

struct Budget {
  Duration grace{};
  Duration kept{};  // for the drain: the reserve, or the margin when that is longer
  Duration hold{};  // the rest: no hold lasts longer

  Duration settle_needs{};  // the longest settle, and then the quiet
  Duration blind_needs{};   // the longest blind
  Duration grace_needed{};  // the shortest grace period that both fit into

  [[nodiscard]] bool settle_fits() const { return settle_needs <= hold; }
  [[nodiscard]] bool blind_fits() const { return blind_needs <= hold; }
};

// Of a pod with this policy and these consumers.
[[nodiscard]] Budget budget(Duration grace, const Policy& policy,
                            const std::vector<ConsumerState>& consumers);

// What is kept of `grace` when nobody has asked for more or less: 10 s, or a third of it if that
// is less.
[[nodiscard]] Duration usual_reserve(Duration grace);

}  // namespace lastcall::core
