// Whose word goes first, and what a word that cannot be followed does.
#include "agent/observe/tuning.h"

#include <chrono>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "tests/agent/report/memory_sink.h"
#include "tests/fakes/sim_loop.h"

namespace lastcall::observe {
namespace {

using core::Source;
using std::chrono::seconds;

class TuningTest : public testing::Test {
 protected:
  using Annotations = std::map<std::string, std::string>;

  static k8s::PodView pod(Annotations annotations) {
    k8s::PodView pod;
    pod.name = "own";
    pod.annotations = std::move(annotations);
    return pod;
  }
  static k8s::ServiceView service(Annotations annotations) {
    k8s::ServiceView service;
    service.name = "web";
    service.annotations = std::move(annotations);
    return service;
  }
  static core::Thresholds from_file() {
    core::Thresholds thresholds;
    thresholds.settle = {seconds(7), Source::kConfigFile};
    thresholds.blind = {seconds(40), Source::kEnvironment};
    return thresholds;
  }

  core::Thresholds of(const k8s::ServiceView& service) {
    tuning_.read(service);
    return tuning_.service(service);
  }

  fakes::SimLoop loop_{1};
  report::MemorySink sink_;
  report::Log log_{loop_, sink_};
  Tuning tuning_{log_, "shop", from_file()};
};

TEST_F(TuningTest, AServiceGoesBeforeThePodAndThePodBeforeTheSettings) {
  EXPECT_TRUE(tuning_.read(pod({{"lastcall/settle", "5s"}, {"lastcall/hold-min", "2s"}})));
  const auto thresholds = of(service({{"lastcall/settle", "1s"}}));
  EXPECT_EQ(thresholds.settle,
            (core::Sourced<core::Duration>{seconds(1), Source::kServiceAnnotation}));
  EXPECT_EQ(thresholds.hold_min,
            (core::Sourced<core::Duration>{seconds(2), Source::kPodAnnotation}));
  EXPECT_EQ(thresholds.blind, (core::Sourced<core::Duration>{seconds(40), Source::kEnvironment}));
  EXPECT_EQ(thresholds.quiet.source, Source::kDefault);
}

TEST_F(TuningTest, EveryAnnotationReachesItsThreshold) {
  const auto thresholds = of(service({{"lastcall/settle", "1s"},
                                      {"lastcall/quiet", "2s"},
                                      {"lastcall/blind", "3s"},
                                      {"lastcall/hold-min", "4s"},
                                      {"lastcall/hold-max", "5s"},
                                      {"lastcall/last-endpoint", "ignore"},
                                      {"lastcall/reserve", "6s"},
                                      {"lastcall/drain-max", "7s"}}));
  EXPECT_EQ(thresholds.settle.value, seconds(1));
  EXPECT_EQ(thresholds.quiet.value, seconds(2));
  EXPECT_EQ(thresholds.blind.value, seconds(3));
  EXPECT_EQ(thresholds.hold_min.value, seconds(4));
  EXPECT_EQ(thresholds.hold_max.value, seconds(5));
  EXPECT_EQ(thresholds.last_endpoint.value, core::LastEndpoint::kIgnore);
  EXPECT_EQ(thresholds.reserve.value, seconds(6));
  EXPECT_EQ(thresholds.drain_max.value, seconds(7));
  EXPECT_TRUE(tuning_.complaints().empty());
}

TEST_F(TuningTest, AMalformedValueFallsThroughToTheNextLevel) {
  tuning_.read(pod({{"lastcall/settle", "5s"}}));
  const auto thresholds = of(service({{"lastcall/settle", "soon"}}));
  EXPECT_EQ(thresholds.settle, (core::Sourced<core::Duration>{seconds(5), Source::kPodAnnotation}));
}

TEST_F(TuningTest, AMalformedValueIsWarnedAboutOnceAndCounted) {
  std::vector<std::string> counted;
  tuning_.on_complaint([&](const Tuning::Complaint& complaint) {
    counted.push_back(std::string(complaint.kind) + " " + complaint.error.key);
  });
  const auto bad = service({{"lastcall/settle", "soon"}});
  tuning_.read(bad);
  tuning_.read(bad);
  ASSERT_EQ(sink_.size(), 1U);
  EXPECT_EQ(sink_.line(0)["event"], "annotation-malformed");
  EXPECT_EQ(sink_.line(0)["object"], "Service shop/web");
  EXPECT_EQ(sink_.line(0)["key"], "lastcall/settle");
  EXPECT_EQ(sink_.line(0)["value"], "soon");
  EXPECT_NE(std::string(sink_.line(0)["error"]).find("expected"), std::string::npos);
  tuning_.read(service({{"lastcall/settle", "later"}}));
  EXPECT_EQ(sink_.size(), 2U);
  EXPECT_EQ(counted,
            (std::vector<std::string>{"service lastcall/settle", "service lastcall/settle"}));
  EXPECT_EQ(tuning_.complaints().size(), 1U);
}

TEST_F(TuningTest, AMendedAnnotationIsComplainedAboutNoMore) {
  tuning_.read(service({{"lastcall/settle", "soon"}}));
  EXPECT_EQ(of(service({{"lastcall/settle", "9s"}})).settle.value, seconds(9));
  EXPECT_TRUE(tuning_.complaints().empty());
}

TEST_F(TuningTest, SaysWhetherAnythingOfThePodHasChanged) {
  EXPECT_FALSE(tuning_.read(pod({})));
  EXPECT_TRUE(tuning_.read(pod({{"lastcall/settle", "5s"}})));
  EXPECT_FALSE(tuning_.read(pod({{"lastcall/settle", "5s"}})));
  EXPECT_TRUE(tuning_.read(pod({})));
  EXPECT_EQ(tuning_.pod(), from_file());
}

TEST_F(TuningTest, AServiceMayBeIgnoredByItselfOrByThePod) {
  tuning_.read(service({}));
  EXPECT_EQ(tuning_.why_ignored("web"), "");
  tuning_.read(service({{"lastcall/ignore", "true"}}));
  EXPECT_EQ(tuning_.why_ignored("web"), "annotation lastcall/ignore of the Service");
  tuning_.read(pod({{"lastcall/ignore", "true"}}));
  tuning_.read(service({}));
  EXPECT_EQ(tuning_.why_ignored("web"), "annotation lastcall/ignore of the Pod");
  tuning_.read(service({{"lastcall/ignore", "false"}}));
  EXPECT_EQ(tuning_.why_ignored("web"), "");
}

TEST_F(TuningTest, TheBuiltInSettleOfAHeadlessServiceCoversDnsCaches) {
  Tuning tuning(log_, "shop", {});
  auto headless = service({});
  headless.headless = true;
  tuning.read(headless);
  EXPECT_EQ(tuning.service(headless).settle,
            (core::Sourced<core::Duration>{seconds(30), Source::kDefault}));
  headless.annotations = {{"lastcall/settle", "2s"}};
  tuning.read(headless);
  EXPECT_EQ(tuning.service(headless).settle.value, seconds(2));
}

TEST_F(TuningTest, APublishingServiceSettlesForItsBlindAtLeast) {
  auto publishing = service({{"lastcall/blind", "12s"}});
  publishing.publish_not_ready = true;
  EXPECT_EQ(of(publishing).settle.value, seconds(12));
  publishing.annotations = {{"lastcall/blind", "2s"}};
  EXPECT_EQ(of(publishing).settle.value, seconds(7));
}

}  // namespace
}  // namespace lastcall::observe
