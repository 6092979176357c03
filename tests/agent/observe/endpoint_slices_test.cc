// How the slices of one Service are judged: each row of the table in FACTS 1.1.
#include "agent/observe/endpoint_slices.h"

#include "gtest/gtest.h"

namespace lastcall::observe {
namespace {

using core::Presence;
using k8s::AddressType;
using k8s::OwnEndpoint;
using Slices = std::map<std::string, SliceFacts>;

constexpr OwnEndpoint kReady{.ready = true, .serving = true, .terminating = false};
constexpr OwnEndpoint kTerminating{.ready = false, .serving = true, .terminating = true};
constexpr OwnEndpoint kTerminatingUnready{.ready = false, .serving = false, .terminating = true};
constexpr OwnEndpoint kUnready{.ready = false, .serving = false, .terminating = false};
constexpr OwnEndpoint kPublishedTerminating{.ready = true, .serving = true, .terminating = true};

SliceFacts slice(std::vector<OwnEndpoint> own, bool others_ready,
                 AddressType type = AddressType::kIpv4, std::vector<std::string> ports = {"http"}) {
  return {type, std::move(ports), std::move(own), others_ready};
}

Presence presence(const Slices& slices, bool publish_not_ready = false) {
  const auto verdict = judge(slices, publish_not_ready);
  return verdict ? verdict->presence : Presence::kBlind;
}

TEST(Judge, AReadyEntryIsRoutable) {
  EXPECT_EQ(presence({{"a", slice({kReady}, true)}}), Presence::kRoutable);
}

TEST(Judge, ATerminatingEntryIsWithdrawnThoughItsAddressStays) {
  EXPECT_EQ(presence({{"a", slice({kTerminating}, true)}}), Presence::kWithdrawn);
}

TEST(Judge, OneReadyEntryAmongManyKeepsItRoutable) {
  const Slices slices{{"a", slice({kTerminating}, true)},
                      {"b", slice({kReady}, true, AddressType::kIpv6)}};
  EXPECT_EQ(presence(slices), Presence::kRoutable);
}

TEST(Judge, AnEntryInTwoSlicesAtOnceIsJudgedInBoth) {
  const Slices slices{{"a", slice({kReady}, true)}, {"b", slice({kTerminating}, true)}};
  const auto verdict = judge(slices, false);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->presence, Presence::kRoutable);
  EXPECT_EQ(verdict->detail, "ready in slice a");
}

TEST(Judge, NoEntryOfOursSaysNothingByItself) {
  EXPECT_FALSE(judge({{"a", slice({}, true)}}, false));
  EXPECT_FALSE(judge({}, false));
}

TEST(Judge, TheLastServingEndpointIsALastResort) {
  EXPECT_EQ(presence({{"a", slice({kTerminating}, false)}}), Presence::kLastResort);
}

TEST(Judge, AnEndpointThatDoesNotServeIsNoLastResort) {
  EXPECT_EQ(presence({{"a", slice({kTerminatingUnready}, false)}}), Presence::kWithdrawn);
}

TEST(Judge, CompanyInAnotherSliceOfTheSamePortEndsTheLastResort) {
  const Slices slices{{"a", slice({kTerminating}, false)}, {"b", slice({}, true)}};
  EXPECT_EQ(presence(slices), Presence::kWithdrawn);
}

TEST(Judge, CompanyInTheOtherFamilyIsNone) {
  const Slices slices{{"a", slice({kTerminating}, false)},
                      {"b", slice({}, true, AddressType::kIpv6)}};
  EXPECT_EQ(presence(slices), Presence::kLastResort);
}

TEST(Judge, CompanyOnAnotherPortIsNone) {
  const Slices slices{{"a", slice({kTerminating}, false)},
                      {"b", slice({}, true, AddressType::kIpv4, {"admin"})}};
  EXPECT_EQ(presence(slices), Presence::kLastResort);
}

TEST(Judge, ASliceWithoutPortsHasCompanyByFamilyAlone) {
  const Slices slices{{"a", slice({kTerminating}, false, AddressType::kIpv4, {})},
                      {"b", slice({}, true, AddressType::kIpv4, {})}};
  EXPECT_EQ(presence(slices), Presence::kWithdrawn);
}

TEST(Judge, APodThatWasNeverReadyIsNotWithdrawnBeforeItTerminates) {
  EXPECT_EQ(presence({{"a", slice({kUnready}, true)}}), Presence::kRoutable);
}

TEST(Judge, PublishNotReadyCountsTerminatingBecauseReadyNeverTurns) {
  EXPECT_EQ(presence({{"a", slice({kPublishedTerminating}, true)}}, true), Presence::kWithdrawn);
  EXPECT_EQ(presence({{"a", slice({kReady}, true)}}, true), Presence::kRoutable);
}

}  // namespace
}  // namespace lastcall::observe
