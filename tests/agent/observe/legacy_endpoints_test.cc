// What an Endpoints object can prove, and what it cannot.
#include "agent/observe/legacy_endpoints.h"

#include <optional>
#include <string>

#include "gtest/gtest.h"

namespace lastcall::observe {
namespace {

using core::Presence;

k8s::EndpointsView listed(bool ready) {
  k8s::EndpointsView view;
  view.name = "web";
  view.own_ready = ready;
  view.own_not_ready = !ready;
  return view;
}

k8s::EndpointsView absent(bool truncated = false) {
  k8s::EndpointsView view;
  view.name = "web";
  view.truncated = truncated;
  return view;
}

TEST(JudgeLegacyEndpoints, AListedAddressIsRoutable) {
  EXPECT_EQ(judge(listed(true), false, false).presence, Presence::kRoutable);
}

TEST(JudgeLegacyEndpoints, AnAddressThatIsNotReadyMayTurnReadyAgain) {
  EXPECT_EQ(judge(listed(false), false, false).presence, Presence::kRoutable);
}

TEST(JudgeLegacyEndpoints, AnAbsentAddressIsWithdrawn) {
  EXPECT_EQ(judge(absent(), false, false).presence, Presence::kWithdrawn);
}

TEST(JudgeLegacyEndpoints, AbsenceFromATruncatedObjectProvesNothing) {
  const Verdict verdict = judge(absent(true), false, true);
  EXPECT_EQ(verdict.presence, Presence::kBlind);
  EXPECT_NE(verdict.detail.find("truncated"), std::string::npos);
}

TEST(JudgeLegacyEndpoints, PresenceInATruncatedObjectIsPresence) {
  auto view = listed(true);
  view.truncated = true;
  EXPECT_EQ(judge(view, false, false).presence, Presence::kRoutable);
}

TEST(JudgeLegacyEndpoints, WhatOutlivesTheSlicesIsStale) {
  for (const bool ready : {true, false}) {
    const Verdict verdict = judge(listed(ready), false, true);
    EXPECT_EQ(verdict.presence, Presence::kBlind);
    EXPECT_NE(verdict.detail.find("lags or is off"), std::string::npos);
  }
}

TEST(JudgeLegacyEndpoints, APublishedAddressStaysToTheEndAndSaysNothing) {
  EXPECT_EQ(judge(listed(true), true, false).presence, Presence::kBlind);
}

TEST(JudgeLegacyEndpoints, WithoutAnObjectNobodyCanFollowIt) {
  EXPECT_EQ(judge(std::nullopt, false, false).presence, Presence::kWithdrawn);
}

}  // namespace
}  // namespace lastcall::observe
