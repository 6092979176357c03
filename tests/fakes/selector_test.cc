#include "tests/fakes/selector.h"

#include "gtest/gtest.h"

namespace lastcall::fakes {
namespace {

bool matches(std::string_view selector, const Labels& labels) {
  return Selector::parse(selector).value().matches(labels);
}

TEST(Selector, NothingSelectsEverything) { EXPECT_TRUE(matches("", {{"a", "b"}})); }

TEST(Selector, EqualityComesWithOneSignOrTwo) {
  EXPECT_TRUE(matches("app=web", {{"app", "web"}}));
  EXPECT_TRUE(matches("app==web", {{"app", "web"}}));
  EXPECT_FALSE(matches("app=web", {{"app", "db"}}));
  EXPECT_FALSE(matches("app=web", {}));
}

TEST(Selector, InTakesOneOfSeveral) {
  EXPECT_TRUE(
      matches("kubernetes.io/service-name in (a,b)", {{"kubernetes.io/service-name", "b"}}));
  EXPECT_FALSE(
      matches("kubernetes.io/service-name in (a,b)", {{"kubernetes.io/service-name", "c"}}));
}

TEST(Selector, RequirementsAddUp) {
  EXPECT_TRUE(matches("app in (web, api), tier=front", {{"app", "api"}, {"tier", "front"}}));
  EXPECT_FALSE(matches("app in (web, api), tier=front", {{"app", "api"}, {"tier", "back"}}));
}

TEST(Selector, AKeyAloneAsksForItsPresence) {
  EXPECT_TRUE(matches("app", {{"app", ""}}));
  EXPECT_FALSE(matches("app", {{"apple", ""}}));
}

TEST(Selector, OtherFormsAreRefused) {
  EXPECT_FALSE(Selector::parse("app!=web"));
  EXPECT_FALSE(Selector::parse("app in (a"));
  EXPECT_FALSE(Selector::parse("a,,b"));
}

}  // namespace
}  // namespace lastcall::fakes
