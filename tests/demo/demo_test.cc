// The demo as it is used: a small scene, in real time.
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "net/event_loop.h"
#include "tests/demo/processes.h"
#include "tests/demo/stage.h"

namespace lastcall::demo {
namespace {

std::string content_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class Demo : public testing::Test {
 protected:
  // Runs lastcall-demo until it exits; returns its exit code.
  int run(std::vector<std::string> arguments) {
    net::EventLoop loop;
    Processes processes(loop);
    arguments.insert(arguments.begin(), LASTCALL_DEMO);
    int code = -1;
    const auto demo = processes.start(
        {.arguments = arguments, .environment = {}, .log = path("output")}, [&](int exit_code) {
          code = exit_code;
          loop.stop();
        });
    loop.run();
    return code;
  }

  [[nodiscard]] std::string path(const std::string& name) const {
    return directory_.path() + "/" + name;
  }

 private:
  WorkDirectory directory_;
};

TEST_F(Demo, LastcallLosesNothingWhereNoHookDoes) {
  const int code = run({"--replicas", "2", "--rate", "50", "--lag", "300ms", "--balancer-lag",
                        "100ms", "--strategies", "none,lastcall", "--json", path("rows.json"),
                        "--svg", path("drawing.svg")});
  ASSERT_EQ(code, 0) << content_of(path("output"));

  const auto rows = nlohmann::json::parse(content_of(path("rows.json")));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows.at(0).at("strategy"), "none");
  EXPECT_GT(rows.at(0).at("failed"), 0);
  EXPECT_EQ(rows.at(1).at("strategy"), "lastcall");
  EXPECT_EQ(rows.at(1).at("failed"), 0);
  for (const auto& row : rows) {
    EXPECT_GT(row.at("sent"), row.at("failed"));
    EXPECT_GT(row.at("rollout_seconds"), row.at("stop_seconds_p50"));
  }
  EXPECT_TRUE(content_of(path("drawing.svg")).ends_with("</svg>\n"));
}

TEST_F(Demo, SaysWhatIsWrongWithItsCommandLine) {
  EXPECT_EQ(run({"--strategies", "prayer"}), 2);
  EXPECT_NE(content_of(path("output")).find("prayer"), std::string::npos);
}

TEST_F(Demo, CannotRunWithoutTheBinaries) {
  EXPECT_EQ(run({"--bin-dir", "/nonexistent"}), 2);
  EXPECT_NE(content_of(path("output")).find("lastcall is not in /nonexistent"), std::string::npos);
}

}  // namespace
}  // namespace lastcall::demo
