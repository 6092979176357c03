#include "agent/report/metrics.h"

#include <chrono>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "gtest/gtest.h"

namespace lastcall::report {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const core::Instant kNow{seconds(1000)};
const core::ConsumerId kWeb{"endpointslices", "shop/web"};

core::Snapshot released() {
  core::Snapshot snapshot;
  snapshot.phase = core::Phase::kReleased;
  snapshot.hold_started = kNow - seconds(10);
  snapshot.drain_started = kNow - seconds(3);
  snapshot.released = kNow - seconds(1);
  snapshot.hold_end = core::HoldEnd::kAllGone;
  snapshot.drain_end = core::DrainEnd::kNoProxy;
  snapshot.deadline = kNow + seconds(20);
  core::ConsumerState consumer{kWeb,
                               {},
                               core::Presence::kWithdrawn,
                               {},
                               kNow - seconds(8),
                               kNow - seconds(5),
                               core::GoneBy::kSettle};
  snapshot.consumers.push_back(consumer);
  snapshot.budget = core::Budget{};
  snapshot.budget->grace = seconds(30);
  snapshot.budget->grace_needed = seconds(35);
  return snapshot;
}

// A metrics object in which everything has happened once.
std::string render_everything() {
  Metrics metrics("0.1.0");
  metrics.count({core::AnswerHook{1, core::Answer::kReleased},
                 core::ConsumerGone{kWeb, core::GoneBy::kSettle}, core::ConsumerReturned{kWeb}});
  metrics.count_request("list", "services", 200, milliseconds(3));
  metrics.count_request("get", "pods", 0, {});
  metrics.count_watch_restart("expired");
  metrics.count_malformed_annotation("service", "lastcall/settle");
  metrics.set_services_ignored(2);
  return metrics.render(released(), kNow);
}

void expect_line(const std::string& text, const std::string& line) {
  EXPECT_NE(text.find("\n" + line + "\n"), std::string::npos) << line << " is not in\n" << text;
}

TEST(Metrics, TellTheOutcome) {
  const std::string text = render_everything();
  expect_line(text, R"(lastcall_phase{phase="released"} 1)");
  expect_line(text, R"(lastcall_phase{phase="holding"} 0)");
  expect_line(text, R"(lastcall_outcome{drain_end="no-proxy",hold_end="all-gone"} 1)");
  expect_line(text, "lastcall_hold_seconds 7");
  expect_line(text, "lastcall_drain_seconds 2");
  expect_line(text, R"(lastcall_deadline_seconds{proven="false"} 20)");
}

TEST(Metrics, TellEachConsumer) {
  const std::string text = render_everything();
  expect_line(
      text, R"(lastcall_consumer_withdrawal_seconds{consumer="shop/web",kind="endpointslices"} 2)");
  expect_line(text, R"(lastcall_consumer_gone{consumer="shop/web",kind="endpointslices"} 1)");
  expect_line(text, R"(lastcall_consumers_gone_total{by="settle",kind="endpointslices"} 1)");
}

TEST(Metrics, CountRequestsWithAndWithoutAnAnswer) {
  const std::string text = render_everything();
  expect_line(text, R"(lastcall_api_requests_total{code="200",resource="services",verb="list"} 1)");
  expect_line(text, R"(lastcall_api_requests_total{code="none",resource="pods",verb="get"} 1)");
  expect_line(text, R"(lastcall_api_request_seconds_count{resource="services",verb="list"} 1)");
}

TEST(Metrics, TellWhatIsWrongWithTheThresholds) {
  const std::string text = render_everything();
  expect_line(text, "lastcall_grace_period_seconds 30");
  expect_line(text, "lastcall_grace_period_needed_seconds 35");
  expect_line(text, "lastcall_services_ignored 2");
  expect_line(text,
              R"(lastcall_malformed_annotations_total{key="lastcall/settle",kind="service"} 1)");
}

TEST(Metrics, ForgetConsumersThatAreNoMore) {
  Metrics metrics("0.1.0");
  ASSERT_NE(metrics.render(released(), kNow).find("shop/web"), std::string::npos);
  EXPECT_EQ(metrics.render({}, kNow).find("shop/web"), std::string::npos);
}

TEST(Metrics, SayNothingOfAStopThatHasNotBegun) {
  Metrics metrics("0.1.0");
  const std::string text = metrics.render({}, kNow);
  expect_line(text, R"(lastcall_phase{phase="serving"} 1)");
  EXPECT_EQ(text.find("lastcall_outcome{"), std::string::npos);
  EXPECT_EQ(text.find("lastcall_hold_seconds "), std::string::npos);
}

// The names between "# TYPE " and the type.
std::set<std::string> names_in(const std::string& text) {
  std::set<std::string> names;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("# TYPE ", 0) == 0) names.insert(line.substr(7, line.find(' ', 7) - 7));
  }
  return names;
}

bool is_metric_row(const std::string& line) {
  const auto has = [&line](const char* text) { return line.find(text) != std::string::npos; };
  return line.rfind("| `", 0) == 0 &&
         (has("| gauge |") || has("| counter |") || has("| histogram |"));
}

TEST(Metrics, AreAllInTheReferenceAndTheReferenceNamesNoOthers) {
  std::ifstream file(LASTCALL_METRICS_DOC);
  ASSERT_TRUE(file);
  std::set<std::string> documented;
  for (std::string line; std::getline(file, line);) {
    if (is_metric_row(line)) {
      documented.insert(line.substr(3, line.find('`', 3) - 3));
    }
  }
  EXPECT_EQ(names_in(render_everything()), documented);
}

}  // namespace
}  // namespace lastcall::report
