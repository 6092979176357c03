// Stops to be told by name: how they begin, and how they should end.
#pragma once

#include <chrono>
#include <functional>
#include <initializer_list>
#include <string>

#include "gtest/gtest.h"

#include "tests/sim/world.h"

namespace lastcall::sim {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A good network, two Services, other pods behind them.
[[nodiscard]] Scenario calm();

// The same with one Service of this kind, with two other pods behind it.
[[nodiscard]] Scenario calm(const ServiceTraits& traits);

// For Scenario::arrange and interventions: from then on the Service, or our Pod, has these
// annotations and no others.
[[nodiscard]] std::function<void(fakes::FakeApiServer&)> annotate(const std::string& service,
                                                                  const fakes::Labels& annotations);
[[nodiscard]] std::function<void(fakes::FakeApiServer&)> annotate_pod(
    const fakes::Labels& annotations);

[[nodiscard]] Outcome run(const Scenario& scenario);

// The violations; empty: none.
[[nodiscard]] std::string trouble(const Outcome& outcome);

// It ended in this way, so long after the stop began, and broke no invariant.
void expect_released(const Outcome& outcome, const std::string& how, net::Duration least,
                     net::Duration most);

// Whether the log has a line with each of these in it.
[[nodiscard]] bool has_logged(const Outcome& outcome, std::initializer_list<const char*> parts);
// How many such lines it has.
[[nodiscard]] std::size_t times_logged(const Outcome& outcome,
                                       std::initializer_list<const char*> parts);

// The consumer of that kind at the release. Fails the test when there is none.
[[nodiscard]] core::ConsumerState consumer(const Outcome& outcome, const std::string& kind,
                                           const std::string& service);

}  // namespace lastcall::sim
