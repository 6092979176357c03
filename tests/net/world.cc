#include "tests/net/world.h"

#include <gtest/gtest.h>

namespace lastcall::net {
namespace {

constexpr std::chrono::seconds kPatience{20};

}  // namespace

void World::until(const std::function<bool()>& condition) {
  if (condition()) return;
  bool late = false;
  const auto watchdog = loop.make_timer([this, &late] {
    late = true;
    loop.stop();
  });
  watchdog->arm(loop.now() + kPatience);
  condition_ = &condition;
  loop.run();
  condition_ = nullptr;
  ASSERT_FALSE(late) << "the condition never held";
}

void World::touch() {
  if (condition_ != nullptr && (*condition_)()) loop.stop();
}

void World::run_for(std::chrono::milliseconds duration) {
  const auto timer = loop.make_timer([this] { loop.stop(); });
  timer->arm(loop.now() + duration);
  loop.run();
}

void Recorder::on_head(const HttpResponseHead& head) {
  EXPECT_EQ(ends, 0);
  heads.push_back(head);
  world_.touch();
  if (when_head) when_head();
}

void Recorder::on_body(std::string_view chunk) {
  EXPECT_EQ(heads.size(), 1U);
  EXPECT_EQ(ends, 0);
  EXPECT_FALSE(chunk.empty());
  body += chunk;
  ++chunks;
  world_.touch();
  if (when_body) when_body();
}

void Recorder::on_end(const Status& outcome) {
  ++ends;
  outcome_ = outcome.ok()
                 ? "ok"
                 : std::string(to_string(outcome.error().code)) + " " + outcome.error().message;
  world_.touch();
  if (when_end) when_end();
}

}  // namespace lastcall::net
