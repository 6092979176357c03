// One log line per decision, saying why.
#pragma once

#include <optional>
#include <vector>

#include "agent/core/drain.h"
#include "agent/report/log.h"

namespace lastcall::report {

// Writes those of `actions` that are told for people. `snapshot` is the state after them.
void log_decisions(Log& log, const std::vector<core::Action>& actions,
                   const core::Snapshot& snapshot, core::Instant now);

// Warns of thresholds for which the grace period leaves no room. The same is not said twice.
class BudgetWarning {
 public:
  void tell(Log& log, const core::Snapshot& snapshot);

 private:
  std::optional<core::Budget> told_;
};

}  // namespace lastcall::report
