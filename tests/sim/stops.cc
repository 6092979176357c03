#include "tests/sim/stops.h"

#include <algorithm>

namespace lastcall::sim {

Scenario calm() {
  Scenario scenario;
  scenario.others = {2, 1};
  scenario.healed_at = Millis(0);
  return scenario;
}

Scenario calm(const ServiceTraits& traits) {
  Scenario scenario = calm();
  scenario.others = {2};
  scenario.traits = {traits};
  return scenario;
}

Outcome run(const Scenario& scenario) { return World(scenario, 1, true).run(); }

std::string trouble(const Outcome& outcome) {
  std::string text;
  for (const auto& violation : outcome.violations) text.append(violation).append("\n");
  return text;
}

void expect_released(const Outcome& outcome, const std::string& how, net::Duration least,
                     net::Duration most) {
  EXPECT_EQ(trouble(outcome), "");
  EXPECT_EQ(outcome.how, how);
  ASSERT_TRUE(outcome.released);
  EXPECT_GE(*outcome.released, least);
  EXPECT_LE(*outcome.released, most);
  if (!testing::Test::HasFailure()) return;
  std::string journal;
  for (const auto& line : outcome.journal) journal.append(line).append("\n");
  GTEST_LOG_(INFO) << journal;
}

bool has_logged(const Outcome& outcome, std::initializer_list<const char*> parts) {
  return std::any_of(outcome.journal.begin(), outcome.journal.end(), [&](const auto& line) {
    return std::all_of(parts.begin(), parts.end(),
                       [&line](const char* part) { return line.find(part) != std::string::npos; });
  });
}

core::ConsumerState consumer(const Outcome& outcome, const std::string& kind,
                             const std::string& service) {
  for (const auto& state : outcome.snapshot->consumers) {
    if (state.id == core::ConsumerId{kind, "shop/" + service}) return state;
  }
  ADD_FAILURE() << "there is no " << kind << " shop/" << service;
  return {};
}

}  // namespace lastcall::sim
