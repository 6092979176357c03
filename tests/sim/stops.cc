#include "tests/sim/stops.h"

#include <algorithm>
#include <utility>

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

std::function<void(fakes::FakeApiServer&)> annotate(const std::string& service,
                                                    const fakes::Labels& annotations) {
  return [=](fakes::FakeApiServer& server) {
    auto object = *server.store().get<fakes::Service>(fakes::Resource::kServices, service);
    object.annotations = annotations;
    server.store().put(std::move(object));
  };
}

std::function<void(fakes::FakeApiServer&)> annotate_pod(const fakes::Labels& annotations) {
  return [=](fakes::FakeApiServer& server) {
    server.update_pod("own", [&](fakes::Pod& pod) { pod.annotations = annotations; });
  };
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
  return times_logged(outcome, parts) > 0;
}

std::size_t times_logged(const Outcome& outcome, std::initializer_list<const char*> parts) {
  const auto has_all = [parts](const std::string& line) {
    return std::all_of(parts.begin(), parts.end(),
                       [&line](const char* part) { return line.find(part) != std::string::npos; });
  };
  return static_cast<std::size_t>(
      std::count_if(outcome.journal.begin(), outcome.journal.end(), has_all));
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
