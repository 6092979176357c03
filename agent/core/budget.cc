#include "agent/core/budget.h"

#include <algorithm>

namespace lastcall::core {
namespace {

constexpr Duration kUsualReserve = std::chrono::seconds(10);
constexpr int kUsualShare = 3;

// The longest reserve that somebody asks for, and whether somebody leaves it to us.
struct Reserves {
  Duration asked{};
  bool usual = false;

  void add(const Thresholds& thresholds) {
    if (thresholds.reserve.value) {
      asked = std::max(asked, *thresholds.reserve.value);
    } else {
      usual = true;
    }
  }
};

// The shortest grace period of which `hold` is left over.
Duration grace_for(Duration hold, const Reserves& reserves, Duration margin) {
  Duration needed = hold + std::max(reserves.asked, margin);
  if (reserves.usual) {
    const Duration with_third = hold * kUsualShare / (kUsualShare - 1);
    needed = std::max(needed, std::min(hold + kUsualReserve, with_third));
  }
  return needed;
}

}  // namespace

Duration usual_reserve(Duration grace) { return std::min(kUsualReserve, grace / kUsualShare); }

Budget budget(Duration grace, const Policy& policy, const std::vector<ConsumerState>& consumers) {
  Budget budget;
  budget.grace = grace;
  // A hold without proof lasts for the blind of the pod, whoever its consumers are.
  budget.blind_needs = policy.thresholds.blind.value;
  Duration settle{};
  Duration quiet{};
  Reserves reserves;
  for (const ConsumerState& consumer : consumers) {
    const Thresholds& thresholds = consumer.thresholds;
    settle = std::max(settle, thresholds.settle.value);
    quiet = std::max(quiet, thresholds.quiet.value);
    budget.blind_needs = std::max(budget.blind_needs, thresholds.blind.value);
    reserves.add(thresholds);
  }
  if (consumers.empty()) {
    quiet = policy.thresholds.quiet.value;
    reserves.add(policy.thresholds);
  }
  budget.settle_needs = settle + quiet;
  const Duration usual = reserves.usual ? usual_reserve(grace) : Duration::zero();
  budget.kept = std::max({reserves.asked, usual, policy.margin.value});
  budget.hold = std::max(grace - budget.kept, Duration::zero());
  budget.grace_needed =
      grace_for(std::max(budget.settle_needs, budget.blind_needs), reserves, policy.margin.value);
  return budget;
}

}  // namespace lastcall::core
