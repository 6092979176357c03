#include "agent/hook/options.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace lastcall::hook {
namespace {

Options parse(const std::vector<const char*>& arguments, const char* agent_variable = nullptr) {
  std::vector<const char*> argv{"lastcall-hook"};
  for (const char* argument : arguments) argv.push_back(argument);
  argv.push_back(nullptr);
  return parse_options(argv.data(), agent_variable);
}

TEST(HookOptions, WaitHasDefaults) {
  const Options options = parse({"wait"});
  ASSERT_TRUE(std::holds_alternative<WaitOptions>(options));
  const auto& wait = std::get<WaitOptions>(options);
  EXPECT_EQ(wait.agent.text, "127.0.0.1:19101");
  EXPECT_EQ(wait.timeout, std::nullopt);
  EXPECT_EQ(wait.fallback, std::chrono::seconds(25));
}

TEST(HookOptions, WaitTakesItsOptionsWithASpaceOrAnEqualsSign) {
  const Options options =
      parse({"wait", "--timeout=300ms", "--fallback", "1m30s", "--agent=[::1]:1"});
  ASSERT_TRUE(std::holds_alternative<WaitOptions>(options));
  const auto& wait = std::get<WaitOptions>(options);
  EXPECT_EQ(wait.agent.text, "[::1]:1");
  EXPECT_EQ(wait.timeout, Milliseconds(300));
  EXPECT_EQ(wait.fallback, std::chrono::seconds(90));
}

TEST(HookOptions, WaitFindsTheAgentWhereTheAgentWasToldToListen) {
  const Options options = parse({"wait"}, "unix:/run/agent.sock");
  ASSERT_TRUE(std::holds_alternative<WaitOptions>(options));
  EXPECT_EQ(std::get<WaitOptions>(options).agent.text, "unix:/run/agent.sock");
}

TEST(HookOptions, TheOptionGoesBeforeTheVariable) {
  const Options options = parse({"wait", "--agent", "127.0.0.1:1"}, "nonsense");
  ASSERT_TRUE(std::holds_alternative<WaitOptions>(options));
  EXPECT_EQ(std::get<WaitOptions>(options).agent.text, "127.0.0.1:1");
}

TEST(HookOptions, InstallTakesADirectory) {
  const Options options = parse({"install", "/shared"});
  ASSERT_TRUE(std::holds_alternative<InstallOptions>(options));
  EXPECT_STREQ(std::get<InstallOptions>(options).directory, "/shared");
}

TEST(HookOptions, HelpIsFoundEverywhere) {
  EXPECT_TRUE(std::holds_alternative<HelpOptions>(parse({"--help"})));
  EXPECT_TRUE(std::holds_alternative<HelpOptions>(parse({"wait", "--help"})));
  EXPECT_TRUE(std::holds_alternative<HelpOptions>(parse({"install", "-h"})));
}

TEST(HookOptions, VersionTakesNothing) {
  EXPECT_TRUE(std::holds_alternative<VersionOptions>(parse({"version"})));
  EXPECT_TRUE(std::holds_alternative<UsageError>(parse({"version", "x"})));
}

TEST(HookOptions, AnErrorNamesTheArgument) {
  const Options options = parse({"wait", "--timeout", "5"});
  ASSERT_TRUE(std::holds_alternative<UsageError>(options));
  EXPECT_EQ(std::get<UsageError>(options).argument, "5");
}

class HookOptionsRefuse : public testing::TestWithParam<std::vector<const char*>> {};

TEST_P(HookOptionsRefuse, WhatCannotBeFollowed) {
  EXPECT_TRUE(std::holds_alternative<UsageError>(parse(GetParam())));
}

INSTANTIATE_TEST_SUITE_P(All, HookOptionsRefuse,
                         testing::Values(std::vector<const char*>{},
                                         std::vector<const char*>{"Wait"},
                                         std::vector<const char*>{"wait", "now"},
                                         std::vector<const char*>{"wait", "--agent"},
                                         std::vector<const char*>{"wait", "--agent="},
                                         std::vector<const char*>{"wait", "--agent", "localhost:1"},
                                         std::vector<const char*>{"wait", "--agents=127.0.0.1:1"},
                                         std::vector<const char*>{"wait", "--timeout"},
                                         std::vector<const char*>{"wait", "--timeout", "-1s"},
                                         std::vector<const char*>{"wait", "--fallback="},
                                         std::vector<const char*>{"wait", "--fallback", "25"},
                                         std::vector<const char*>{"install"},
                                         std::vector<const char*>{"install", ""},
                                         std::vector<const char*>{"install", "--force"},
                                         std::vector<const char*>{"install", "/a", "/b"}));

TEST(HookOptions, AnEmptyVariableIsAnErrorAndNotTheDefault) {
  EXPECT_TRUE(std::holds_alternative<UsageError>(parse({"wait"}, "")));
}

}  // namespace
}  // namespace lastcall::hook
