// `lastcall-hook install`, and the program as a file.
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/agent/hook/hook_process.h"
#include "tests/agent/hook/scripted_agent.h"

namespace lastcall::hook {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string content_of(const fs::path& path) {
  std::ostringstream content;
  content << std::ifstream(path, std::ios::binary).rdbuf();
  return content.str();
}

std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory)) {
    names.push_back(entry.path().filename());
  }
  return names;
}

void install_into(const std::string& directory) {
  HookProcess hook(hook_command({"install", directory}));
  EXPECT_EQ(hook.exit_code(), 0);
  EXPECT_EQ(hook.output(), "");
}

TEST(HookInstall, CopiesTheProgramForEveryUserToRun) {
  const TemporaryDirectory directory;
  const mode_t umask_before = umask(077);
  install_into(directory.path());
  umask(umask_before);
  const std::string copy = directory.path() + "/lastcall-hook";
  EXPECT_TRUE(content_of(copy) == content_of(LASTCALL_HOOK));
  EXPECT_EQ(static_cast<unsigned>(fs::status(copy).permissions()), 0755U);
}

TEST(HookInstall, ReplacesAnEarlierCopyEvenWhileItRuns) {
  const TemporaryDirectory directory;
  install_into(directory.path());
  ScriptedAgent agent = ScriptedAgent::on_ipv4();
  agent.listen();
  HookCommand command = hook_command({"wait", "--agent", agent.address()});
  command.program = directory.path() + "/lastcall-hook";
  HookProcess running(command);
  const Connection connection = agent.accept();
  install_into(directory.path());
  EXPECT_TRUE(running.is_running());
  EXPECT_THAT(names_in(directory.path()), testing::ElementsAre("lastcall-hook"));
}

TEST(HookInstall, SaysWhyItFailed) {
  const TemporaryDirectory directory;
  HookProcess hook(hook_command({"install", directory.path() + "/absent"}));
  EXPECT_EQ(hook.exit_code(), 1);
  EXPECT_THAT(hook.output(), HasSubstr("/absent: cannot open the directory: No such file"));
}

TEST(HookInstall, LeavesNothingBehindWhenItFails) {
  const TemporaryDirectory directory;
  fs::create_directories(directory.path() + "/lastcall-hook/taken");
  HookProcess hook(hook_command({"install", directory.path()}));
  EXPECT_EQ(hook.exit_code(), 1);
  EXPECT_THAT(hook.output(), HasSubstr("cannot write lastcall-hook: "));
  EXPECT_THAT(names_in(directory.path()), testing::ElementsAre("lastcall-hook"));
}

TEST(HookProgram, RunsInAnEmptyRootFileSystem) {
  if (geteuid() != 0) GTEST_SKIP() << "chroot needs root";
  const TemporaryDirectory root;
  install_into(root.path());
  ScriptedAgent agent = ScriptedAgent::on_unix(root.path() + "/agent.sock");
  agent.listen();
  HookCommand command;
  command.program = "/lastcall-hook";
  command.arguments = {"wait", "--agent", "unix:/agent.sock"};
  command.root = root.path();
  HookProcess hook(command);
  agent.accept().send("HTTP/1.1 200 OK\r\n\r\n");
  EXPECT_EQ(hook.exit_code(), 0);
  EXPECT_EQ(hook.output(), "");
}

TEST(HookProgram, FitsIntoItsBudget) {
  constexpr std::uintmax_t kBytesMax = std::uintmax_t{1024} * 1024;
  const TemporaryDirectory directory;
  const std::string stripped = directory.path() + "/stripped";
  HookCommand strip;
  strip.program = LASTCALL_STRIP;
  strip.arguments = {"-o", stripped, LASTCALL_HOOK};
  HookProcess process(strip);
  ASSERT_EQ(process.exit_code(), 0) << process.output();
  EXPECT_LE(fs::file_size(stripped), kBytesMax);
}

TEST(HookProgram, SaysItsVersion) {
  HookProcess hook(hook_command({"version"}));
  EXPECT_EQ(hook.exit_code(), 0);
  EXPECT_EQ(hook.output(), "lastcall-hook " LASTCALL_VERSION "\n");
}

TEST(HookProgram, ExplainsItselfAndItsExitCodes) {
  HookProcess hook(hook_command({"--help"}));
  EXPECT_EQ(hook.exit_code(), 0);
  const std::string output = hook.output();
  for (const char* word : {"wait", "install DIR", "--fallback D", "Exit codes:", "143"}) {
    EXPECT_THAT(output, HasSubstr(word));
  }
}

}  // namespace
}  // namespace lastcall::hook
