// How the slices of one Service are judged: each row of the table in FACTS 1.1.
#include "agent/observe/endpoint_slices.h"

#include "gtest/gtest.h"

namespace lastcall::observe {
namespace {

using core::Presence;
using k8s::AddressType;
using k8s::OwnEndpoint;

constexpr OwnEndpoint kReady{.ready = true, .serving = true, .terminating = false};
constexpr OwnEndpoint kTerminating{.ready = false, .serving = true, .terminating = true};
constexpr OwnEndpoint kTerminatingUnready{.ready = false, .serving = false, .terminating = true};
constexpr OwnEndpoint kUnready{.ready = false, .serving = false, .terminating = false};
constexpr OwnEndpoint kPublishedTerminating{.ready = true, .serving = true, .terminating = true};

SliceFacts slice(std::vector<OwnEndpoint> own, bool others_ready,
                 AddressType type = AddressType::kIpv4, std::vector<std::string> ports = {"http"}) {
  SliceFacts facts;
  facts.address_type = type;
  facts.port_names = std::move(ports);
  facts.own = std::move(own);
  facts.others_ready = others_ready;
  return facts;
}

// Somebody else writes it.
SliceFacts unmanaged(std::vector<OwnEndpoint> own, bool others_ready) {
  SliceFacts facts = slice(std::move(own), others_ready);
  facts.follows_pod = false;
  facts.manager = "endpointslicemirroring-controller.k8s.io";
  return facts;
}

const k8s::ServiceView kOrdinary{.name = "web"};
const k8s::ServiceView kHeadless{.name = "web", .headless = true};
const k8s::ServiceView kPublishing{.name = "web", .publish_not_ready = true};
const k8s::ServiceView kLocal{.name = "web", .local_only = true};

Presence presence(const Slices& slices, const k8s::ServiceView& service = kOrdinary) {
  const auto verdict = judge(slices, service);
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
  const auto verdict = judge(slices, kOrdinary);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->presence, Presence::kRoutable);
  EXPECT_EQ(verdict->detail, "ready in slice a");
}

TEST(Judge, NoEntryOfOursSaysNothingByItself) {
  EXPECT_FALSE(judge({{"a", slice({}, true)}}, kOrdinary));
  EXPECT_FALSE(judge({}, kOrdinary));
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
  EXPECT_EQ(presence({{"a", slice({kPublishedTerminating}, true)}}, kPublishing),
            Presence::kWithdrawn);
  EXPECT_EQ(presence({{"a", slice({kReady}, true)}}, kPublishing), Presence::kRoutable);
}

TEST(Judge, HeadlessServicesHaveNoLastResort) {
  EXPECT_EQ(presence({{"a", slice({kTerminating}, false)}}, kHeadless), Presence::kWithdrawn);
}

TEST(Judge, WithLocalPolicyOnlyCompanyOnTheOwnNodeCounts) {
  SliceFacts elsewhere = slice({kTerminating}, true);
  EXPECT_EQ(presence({{"a", elsewhere}}, kLocal), Presence::kLastResort);
  elsewhere.others_ready_on_node = true;
  EXPECT_EQ(presence({{"a", elsewhere}}, kLocal), Presence::kWithdrawn);
}

TEST(Judge, SlicesThatDoNotFollowThePodSayNothingOfItsWithdrawal) {
  EXPECT_FALSE(judge({{"a", unmanaged({kReady}, true)}}, kOrdinary));
  EXPECT_FALSE(judge_unmanaged({{"a", slice({kReady}, true)}}));
  EXPECT_FALSE(judge_unmanaged({{"a", unmanaged({}, true)}}));
}

TEST(Judge, AnEntryInASliceThatDoesNotFollowThePodIsBlindAndSaysWhy) {
  for (const OwnEndpoint& own : {kReady, kTerminating, kUnready}) {
    const auto verdict = judge_unmanaged({{"a", unmanaged({own}, true)}});
    ASSERT_TRUE(verdict);
    EXPECT_EQ(verdict->presence, Presence::kBlind);
    EXPECT_EQ(verdict->detail,
              "listed in slice a of endpointslicemirroring-controller.k8s.io, which does not "
              "follow the pod");
  }
}

TEST(Judge, CompanyInAnUnmanagedSliceIsCompany) {
  EXPECT_EQ(presence({{"a", slice({kTerminating}, false)}, {"b", unmanaged({}, true)}}),
            Presence::kWithdrawn);
}

}  // namespace
}  // namespace lastcall::observe
