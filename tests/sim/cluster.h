// The objects that a scenario begins with, and what becomes of its Services.
#pragma once

#include "tests/fakes/fake_api_server.h"
#include "tests/sim/scenario.h"

namespace lastcall::sim {

inline constexpr const char* kNamespace = "shop";
inline constexpr const char* kOwnPod = "own";
inline constexpr const char* kOwnNode = "node-a";

// Our pod, its node, its Services and the other pods behind them.
void populate(fakes::FakeApiServer& server, const Scenario& scenario);

// A Service without a selector, and a slice of it that lists us.
void list_by_hand(fakes::FakeApiServer& server);
void unlist_by_hand(fakes::FakeApiServer& server);

// Another pod behind each of the Services.
void add_replacement(fakes::FakeApiServer& server, const Scenario& scenario);

// `number`: of the change among all; names what is created.
void apply(fakes::FakeApiServer& server, const ServiceChange& change, std::size_t number);

}  // namespace lastcall::sim
