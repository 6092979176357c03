// How the slices of one Service are judged: each row of the table in FACTS 1.1.
#include "agent/observe/endpoint_slices.h"

#include <string>
#include <variant>
#include <vector>

#include "gtest/gtest.h"

#include "agent/observe/services.h"
#include "agent/observe/tuning.h"
#include "tests/agent/report/memory_sink.h"
#include "tests/fakes/fake_loop.h"
#include "tests/fakes/scripted_http.h"

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

TEST(Judge, EachPortNeedsCompanyOfItsOwn) {
  SliceFacts ours = slice({kTerminating}, false);
  ours.port_names = {"http", "admin"};
  SliceFacts http = slice({}, true);
  SliceFacts admin = slice({}, true);
  admin.port_names = {"admin"};
  EXPECT_EQ(presence({{"a", ours}, {"b", http}}), Presence::kLastResort);
  EXPECT_EQ(presence({{"a", ours}, {"b", http}, {"c", admin}}), Presence::kWithdrawn);
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

// A hold of a pod in a namespace with one Service that has no selector.
class UnmanagedSlicesTest : public testing::Test {
 protected:
  UnmanagedSlicesTest() {
    services_.on_change([this] { slices_.on_services(); });
    k8s::PodView pod;
    pod.uid = "u1";
    pod.addresses = {"10.1.0.1"};
    slices_.identify(pod);
    services_.identify(pod);
    slices_.begin();
    services_.begin();
    answer("/services", "ServiceList", R"({"metadata":{"name":"manual"},"spec":{}})");
  }

  // The LIST under way there gets one item, or none.
  void answer(const std::string& path, const std::string& kind, const std::string& item) {
    for (std::size_t i = 0; i < http_.count(); ++i) {
      fakes::ScriptedExchange& exchange = http_.at(i);
      const bool wanted = exchange.path().find(path + "?limit") != std::string::npos;
      if (!wanted || !exchange.open()) continue;
      std::string list = R"({"kind":")" + kind;
      list.append(R"(","metadata":{"resourceVersion":"1"},"items":[)").append(item).append("]}");
      return exchange.answer(200, list);
    }
    ADD_FAILURE() << "nobody lists " << path;
  }
  void answer_slices(const std::string& address) {
    std::string item =
        R"({"metadata":{"name":"manual-1","labels":{"kubernetes.io/service-name":"manual"}},)"
        R"("addressType":"IPv4","endpoints":[{"addresses":[")";
    item.append(address).append(R"("]}]})");
    answer("/endpointslices", "EndpointSliceList", item);
  }

  // The consumers that the decision knows now.
  [[nodiscard]] std::vector<std::string> known() const {
    std::vector<std::string> kinds;
    for (const core::Event& event : events_) {
      if (const auto* known = std::get_if<core::ConsumerKnown>(&event)) {
        kinds.push_back(known->id.kind);
      } else if (const auto* dropped = std::get_if<core::ConsumerDropped>(&event)) {
        std::erase(kinds, dropped->id.kind);
      }
    }
    return kinds;
  }

  fakes::FakeLoop loop_;
  fakes::ScriptedHttp http_{loop_};
  k8s::ApiClient api_{loop_, http_, {"http://api", "", ""}};
  report::MemorySink sink_;
  report::Log log_{loop_, sink_};
  std::vector<core::Event> events_;
  Emit emit_ = [this](core::Event event) { events_.push_back(std::move(event)); };
  Tuning tuning_{log_, "shop", {}};
  Services services_{api_, loop_, log_, "shop", tuning_, emit_};
  EndpointSlices slices_{api_, loop_, log_, "shop", services_, emit_};
};

TEST_F(UnmanagedSlicesTest, AServiceWithoutSelectorMayListUsUntilItsSlicesSayOtherwise) {
  EXPECT_EQ(known(), std::vector<std::string>{"unmanaged-endpointslices"});
  answer_slices("10.1.0.2");
  EXPECT_TRUE(known().empty());
  for (const core::Event& event : events_) {
    EXPECT_FALSE(std::holds_alternative<core::Observed>(event));
  }
}

TEST_F(UnmanagedSlicesTest, AServiceWithoutSelectorThatListsUsStaysAConsumer) {
  answer_slices("10.1.0.1");
  EXPECT_EQ(known(), std::vector<std::string>{"unmanaged-endpointslices"});
  const auto* observed = std::get_if<core::Observed>(&events_.back());
  ASSERT_NE(observed, nullptr);
  EXPECT_EQ(observed->presence, Presence::kBlind);
}

}  // namespace
}  // namespace lastcall::observe
