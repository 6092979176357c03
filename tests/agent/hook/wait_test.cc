// `lastcall-hook wait`, the real program in real time.
#include <fstream>
#include <sstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include "tests/agent/hook/hook_process.h"
#include "tests/agent/hook/scripted_agent.h"

namespace lastcall::hook {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

constexpr std::string_view kReleased = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

class HookWait : public testing::Test {
 protected:
  [[nodiscard]] std::string socket_path() const { return directory_.path() + "/agent.sock"; }

  static HookCommand wait_for(const std::string& agent, const std::string& fallback) {
    return hook_command({"wait", "--agent", agent, "--fallback", fallback});
  }

 private:
  TemporaryDirectory directory_;
};

void pass(milliseconds time) { std::this_thread::sleep_for(time); }

TEST_F(HookWait, EndsSilentlyWhenTheAgentReleases) {
  ScriptedAgent agent = ScriptedAgent::on_ipv4();
  agent.listen();
  HookProcess hook(wait_for(agent.address(), "10s"));
  const Connection connection = agent.accept();
  EXPECT_EQ(connection.request(), "POST /hold HTTP/1.1\r\nHost: " + agent.address() +
                                      "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  connection.send(kReleased);
  EXPECT_EQ(hook.exit_code(), 0);
  EXPECT_EQ(hook.output(), "");
}

TEST_F(HookWait, HoldsAsLongAsTheAgentDoesWhateverTheFallback) {
  ScriptedAgent agent = ScriptedAgent::on_ipv4();
  agent.listen();
  HookProcess hook(wait_for(agent.address(), "100ms"));
  const Connection connection = agent.accept();
  EXPECT_THAT(connection.request(), HasSubstr("POST /hold"));
  pass(milliseconds(400));
  EXPECT_TRUE(hook.is_running());
  connection.send(kReleased);
  EXPECT_EQ(hook.exit_code(), 0);
}

TEST_F(HookWait, ReachesTheAgentByIPv6) {
  ScriptedAgent agent = ScriptedAgent::on_ipv6();
  if (!agent.is_bound()) GTEST_SKIP() << "no IPv6 on this machine";
  agent.listen();
  HookProcess hook(wait_for(agent.address(), "10s"));
  agent.accept().send(kReleased);
  EXPECT_EQ(hook.exit_code(), 0);
}

TEST_F(HookWait, ReachesTheAgentByAUnixSocketNamedInTheEnvironment) {
  ScriptedAgent agent = ScriptedAgent::on_unix(socket_path());
  agent.listen();
  HookCommand command = hook_command({"wait"});
  command.environment = {"LASTCALL_LISTEN_LOCAL=" + agent.address()};
  HookProcess hook(command);
  const Connection connection = agent.accept();
  EXPECT_THAT(connection.request(), HasSubstr("\r\nHost: localhost\r\n"));
  connection.send(kReleased);
  EXPECT_EQ(hook.exit_code(), 0);
  EXPECT_EQ(hook.output(), "");
}

TEST_F(HookWait, ReadsAnAnswerThatComesInPieces) {
  ScriptedAgent agent = ScriptedAgent::on_ipv4();
  agent.listen();
  HookProcess hook(wait_for(agent.address(), "10s"));
  const Connection connection = agent.accept();
  for (const std::string_view piece : {"HTT", "P/1.1 20", "0 OK\r"}) {
    connection.send(piece);
    pass(milliseconds(20));
    EXPECT_TRUE(hook.is_running());
  }
  connection.send("\n");
  EXPECT_EQ(hook.exit_code(), 0);
}

TEST_F(HookWait, FallsBackToAPlainSleepWithoutAnAgent) {
  const ScriptedAgent agent = ScriptedAgent::on_ipv4();
  HookProcess hook(wait_for(agent.address(), "300ms"));
  EXPECT_EQ(hook.exit_code(), 0);
  EXPECT_GE(hook.age(), milliseconds(300));
  const std::string output = hook.output();
  EXPECT_THAT(output, HasSubstr(agent.address() + ": Connection refused, trying again\n"));
  EXPECT_THAT(output, HasSubstr("stops as after a plain sleep\n"));
}

TEST_F(HookWait, FindsAnAgentThatStartsLate) {
  ScriptedAgent agent = ScriptedAgent::on_ipv4();
  HookProcess hook(wait_for(agent.address(), "10s"));
  pass(milliseconds(100));
  agent.listen();
  agent.accept().send(kReleased);
  EXPECT_EQ(hook.exit_code(), 0);
}

TEST_F(HookWait, AsksAgainWhenTheAgentComesBack) {
  std::optional<ScriptedAgent> agent(ScriptedAgent::on_unix(socket_path()));
  agent->listen();
  HookProcess hook(wait_for(agent->address(), "10s"));
  EXPECT_THAT(agent->accept().request(), HasSubstr("POST /hold"));
  agent.reset();
  agent.emplace(ScriptedAgent::on_unix(socket_path())).listen();
  const Connection connection = agent->accept();
  EXPECT_THAT(connection.request(), HasSubstr("POST /hold"));
  EXPECT_TRUE(hook.is_running());
  connection.send(kReleased);
  EXPECT_EQ(hook.exit_code(), 0);
  EXPECT_THAT(hook.output(), HasSubstr("the connection was cut before an answer, trying again\n"));
}

TEST_F(HookWait, FallsBackWhenTheAgentNeverComesBack) {
  std::optional<ScriptedAgent> agent(ScriptedAgent::on_unix(socket_path()));
  agent->listen();
  HookProcess hook(wait_for(agent->address(), "300ms"));
  EXPECT_THAT(agent->accept().request(), HasSubstr("POST /hold"));
  agent.reset();
  EXPECT_EQ(hook.exit_code(), 0);
  EXPECT_GE(hook.age(), milliseconds(300));
  EXPECT_THAT(hook.output(), HasSubstr("No such file or directory, trying again\n"));
}

TEST_F(HookWait, WaitsForTheRestartOfAnAgentThatHeldItPastTheFallback) {
  std::optional<ScriptedAgent> agent(ScriptedAgent::on_unix(socket_path()));
  agent->listen();
  HookProcess hook(wait_for(agent->address(), "1s"));
  {
    const Connection connection = agent->accept();
    pass(milliseconds(1050));
    agent.reset();
    agent.emplace(ScriptedAgent::on_unix(socket_path())).listen();
  }
  const Connection connection = agent->accept();
  EXPECT_THAT(connection.request(), HasSubstr("POST /hold"));
  EXPECT_TRUE(hook.is_running());
  connection.send(kReleased);
  EXPECT_EQ(hook.exit_code(), 0);
}

TEST_F(HookWait, TakesAnAnswerThatIsCutForNone) {
  ScriptedAgent agent = ScriptedAgent::on_ipv4();
  agent.listen();
  HookProcess hook(wait_for(agent.address(), "10s"));
  agent.accept().send("HTTP/1.1 200 OK");
  const Connection connection = agent.accept();
  EXPECT_TRUE(hook.is_running());
  connection.send(kReleased);
  EXPECT_EQ(hook.exit_code(), 0);
}

TEST_F(HookWait, AsksAgainAfterAnAnswerThatIsNoRelease) {
  ScriptedAgent agent = ScriptedAgent::on_ipv4();
  agent.listen();
  HookProcess hook(wait_for(agent.address(), "10s"));
  agent.accept().send("HTTP/1.1 503 Service Unavailable\r\n\r\n");
  agent.accept().send("\x16\x03\x01 garbage");
  agent.accept().send(kReleased);
  EXPECT_EQ(hook.exit_code(), 0);
  const std::string output = hook.output();
  EXPECT_THAT(output, HasSubstr("its answer was not 200, trying again\n"));
  EXPECT_THAT(output, HasSubstr("its answer was not HTTP, trying again\n"));
}

TEST_F(HookWait, SaysTheSameTroubleOnce) {
  std::optional<ScriptedAgent> agent(ScriptedAgent::on_unix(socket_path()));
  agent->listen();
  HookProcess hook(wait_for(agent->address(), "700ms"));
  agent->accept().send("garbage");
  agent->accept().send("garbage");
  agent.reset();
  EXPECT_EQ(hook.exit_code(), 0);
  EXPECT_GE(hook.age(), milliseconds(700));
  const std::string output = hook.output();
  EXPECT_THAT(output, HasSubstr("not HTTP"));
  EXPECT_EQ(output.find("not HTTP"), output.rfind("not HTTP")) << output;
}

TEST_F(HookWait, EndsWithItsTimeoutWhileTheAgentHolds) {
  ScriptedAgent agent = ScriptedAgent::on_ipv4();
  agent.listen();
  HookProcess hook(hook_command({"wait", "--agent", agent.address(), "--timeout", "200ms"}));
  const Connection connection = agent.accept();
  EXPECT_EQ(hook.exit_code(), 0);
  EXPECT_GE(hook.age(), milliseconds(200));
  EXPECT_THAT(hook.output(), HasSubstr("has not released within --timeout"));
}

TEST_F(HookWait, EndsAtOnceOnSigterm) {
  ScriptedAgent agent = ScriptedAgent::on_ipv4();
  agent.listen();
  HookProcess hook(wait_for(agent.address(), "10s"));
  const Connection connection = agent.accept();
  hook.terminate();
  EXPECT_EQ(hook.exit_code(), 143);
}

TEST_F(HookWait, DoesNotDieOfALogThatNobodyReads) {
  const ScriptedAgent agent = ScriptedAgent::on_ipv4();
  HookProcess hook(wait_for(agent.address(), "100ms"));
  hook.close_output();
  EXPECT_EQ(hook.exit_code(), 0);
}

TEST_F(HookWait, RefusesWhatItCannotUnderstand) {
  HookProcess hook(hook_command({"wait", "--fallback", "25"}));
  EXPECT_EQ(hook.exit_code(), 2);
  EXPECT_EQ(hook.output(),
            "lastcall-hook: not a duration such as 300ms, 5s or 2m: 25 (lastcall-hook --help "
            "explains)\n");
}

TEST_F(HookWait, WritesIntoTheLogOfTheContainersFirstProcess) {
  const ScriptedAgent agent = ScriptedAgent::on_ipv4();
  const std::string log = socket_path() + ".log";
  HookCommand command;
  command.program = "/usr/bin/unshare";
  if (geteuid() != 0 || access(command.program.c_str(), X_OK) != 0) {
    GTEST_SKIP() << "a PID namespace needs root and unshare(1)";
  }
  // The log is a file here: what stands in it must stay.
  command.arguments = {"--pid",
                       "--fork",
                       "--mount-proc",
                       "/bin/sh",
                       "-c",
                       "exec 2>\"$1\"; echo earlier >&2; "
                       "(exec 2>/dev/null; exec \"$0\" wait --fallback 0 --agent \"$2\"); exit $?",
                       LASTCALL_HOOK,
                       log,
                       agent.address()};
  HookProcess hook(command);
  const int exit_code = hook.exit_code();
  std::stringstream content;
  content << std::ifstream(log).rdbuf();
  if (content.str().empty()) GTEST_SKIP() << "no PID namespace here: " << hook.output();
  EXPECT_EQ(exit_code, 0);
  EXPECT_THAT(content.str(), testing::StartsWith("earlier\nlastcall-hook: no release"));
}

}  // namespace
}  // namespace lastcall::hook
