#include "agent/hook/options.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace lastcall::hook {
namespace {

using Words = std::vector<std::string>;

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

class HookOptionsRefuse : public testing::TestWithParam<Words> {};

TEST_P(HookOptionsRefuse, WhatCannotBeFollowed) {
  std::vector<const char*> arguments;
  arguments.reserve(GetParam().size());
  for (const std::string& word : GetParam()) arguments.push_back(word.c_str());
  EXPECT_TRUE(std::holds_alternative<UsageError>(parse(arguments)));
}

INSTANTIATE_TEST_SUITE_P(
    All, HookOptionsRefuse,
    testing::Values(Words{}, Words{"Wait"}, Words{"wait", "now"}, Words{"wait", "--agent"},
                    Words{"wait", "--agent="}, Words{"wait", "--agent", "localhost:1"},
                    Words{"wait", "--agents=127.0.0.1:1"}, Words{"wait", "--timeout"},
                    Words{"wait", "--timeout", "-1s"}, Words{"wait", "--fallback="},
                    Words{"wait", "--fallback", "25"}, Words{"install"}, Words{"install", ""},
                    Words{"install", "--force"}, Words{"install", "/a", "/b"}));

TEST(HookOptions, AnEmptyVariableIsAnErrorAndNotTheDefault) {
  EXPECT_TRUE(std::holds_alternative<UsageError>(parse({"wait"}, "")));
}

}  // namespace
}  // namespace lastcall::hook
