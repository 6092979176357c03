#include "net/event_loop.h"

#include <csignal>
#include <vector>

#include "gtest/gtest.h"

namespace lastcall::net {
namespace {

using std::chrono::milliseconds;

TEST(EventLoop, FiresATimerNeverEarly) {
  EventLoop loop;
  std::vector<Duration> lateness;
  std::vector<std::unique_ptr<Timer>> timers;
  const Instant start = loop.now();
  for (int i = 0; i < 50; ++i) {
    const Instant due = start + std::chrono::microseconds(137 * i);
    timers.push_back(loop.make_timer([&, due] {
      EXPECT_GE(std::chrono::steady_clock::now(), due);
      lateness.push_back(loop.now() - due);
      if (lateness.size() == timers.size()) loop.stop();
    }));
    timers.back()->arm(due);
  }
  loop.run();
  for (const Duration late : lateness) EXPECT_GE(late, Duration::zero());
}

TEST(EventLoop, FiresAPastTimerInTheNextTurn) {
  EventLoop loop;
  bool armed = false;
  bool inside = false;
  Instant first_turn{};
  const auto past = loop.make_timer([&] {
    EXPECT_TRUE(armed);
    EXPECT_FALSE(inside);
    EXPECT_GT(loop.now(), first_turn);
    loop.stop();
  });
  const auto first = loop.make_timer([&] {
    inside = true;
    first_turn = loop.now();
    past->arm(loop.now() - std::chrono::hours(1));
    armed = true;
    inside = false;
  });
  first->arm(loop.now());
  loop.run();
}

TEST(EventLoop, KeepsItsTimeWithinATurn) {
  EventLoop loop;
  const auto timer = loop.make_timer([&] {
    const Instant before = loop.now();
    while (std::chrono::steady_clock::now() - before < milliseconds(1)) {
    }
    EXPECT_EQ(loop.now(), before);
    loop.stop();
  });
  timer->arm(loop.now());
  loop.run();
}

TEST(EventLoop, LooksAtTheClockAgainAfterBlocking) {
  EventLoop loop;
  const Instant start = loop.now();
  const auto timer = loop.make_timer([&] {
    EXPECT_GE(loop.now() - start, milliseconds(5));
    loop.stop();
  });
  timer->arm(start + milliseconds(5));
  loop.run();
}

TEST(EventLoop, LetsATimerDestroyItself) {
  EventLoop loop;
  std::unique_ptr<Timer> timer;
  const std::string captured(100, 'x');
  std::size_t seen = 0;
  timer = loop.make_timer([&timer, &loop, &seen, captured] {
    timer.reset();
    seen = captured.size();
    loop.stop();
  });
  timer->arm(loop.now());
  loop.run();
  EXPECT_EQ(seen, 100U);
}

TEST(EventLoop, LetsATimerArmItselfAgain) {
  EventLoop loop;
  int fired = 0;
  std::unique_ptr<Timer> timer;
  timer = loop.make_timer([&] {
    if (++fired == 3) return loop.stop();
    timer->arm(loop.now());
  });
  timer->arm(loop.now());
  loop.run();
  EXPECT_EQ(fired, 3);
}

TEST(EventLoop, ForgetsADisarmedOrDestroyedTimer) {
  EventLoop loop;
  const auto unexpected = [] { FAIL(); };
  const auto disarmed = loop.make_timer(unexpected);
  auto destroyed = loop.make_timer(unexpected);
  disarmed->arm(loop.now());
  destroyed->arm(loop.now());
  disarmed->disarm();
  destroyed.reset();
  const auto last = loop.make_timer([&] { loop.stop(); });
  last->arm(loop.now() + milliseconds(2));
  loop.run();
}

TEST(EventLoop, ReplacesAnEarlierArming) {
  EventLoop loop;
  int fired = 0;
  const auto timer = loop.make_timer([&] {
    ++fired;
    loop.stop();
  });
  timer->arm(loop.now() + std::chrono::hours(1));
  timer->arm(loop.now());
  loop.run();
  EXPECT_EQ(fired, 1);
}

TEST(EventLoop, DeliversEverySignalOnItsThread) {
  EventLoop loop;
  int first = 0;
  int second = 0;
  loop.on_signal(SIGUSR1, [&] {
    ++first;
    (void)std::raise(SIGUSR2);
  });
  loop.on_signal(SIGUSR2, [&] {
    ++second;
    if (first == 2) return loop.stop();
    (void)std::raise(SIGUSR1);
  });
  const auto timer = loop.make_timer([] { (void)std::raise(SIGUSR1); });
  timer->arm(loop.now());
  loop.run();
  EXPECT_EQ(first, 2);
  EXPECT_EQ(second, 2);
}

TEST(EventLoop, CanRunAgainAfterAStop) {
  EventLoop loop;
  int fired = 0;
  const auto timer = loop.make_timer([&] {
    ++fired;
    loop.stop();
  });
  for (int run = 0; run < 2; ++run) {
    timer->arm(loop.now());
    loop.run();
  }
  EXPECT_EQ(fired, 2);
}

TEST(EventLoop, DrawsDifferentNumbers) {
  EventLoop loop;
  const std::uint32_t first = loop.random();
  bool differs = false;
  for (int i = 0; i < 10; ++i) differs = differs || loop.random() != first;
  EXPECT_TRUE(differs);
}

TEST(EventLoop, SurvivesWritingToAClosedPipe) {
  const EventLoop loop;
  EXPECT_EQ(std::raise(SIGPIPE), 0);
}

}  // namespace
}  // namespace lastcall::net
