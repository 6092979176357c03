// The production Loop: libevent 2.1, one thread, level-triggered epoll.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <random>

#include "net/loop.h"

struct event_base;

namespace lastcall::net {

class EventLoop final : public Loop {
 public:
  // Aborts when the kernel refuses an epoll instance: nothing can work then. Has the process
  // ignore SIGPIPE; a program it starts inherits that unless told otherwise.
  EventLoop();
  ~EventLoop() override;
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  [[nodiscard]] Instant now() const override;
  [[nodiscard]] WallTime wall_now() const override;
  [[nodiscard]] std::unique_ptr<Timer> make_timer(std::function<void()> callback) override;
  [[nodiscard]] std::uint32_t random() override;

  // Runs callbacks until stop(). Blocks without waking while nothing happens: an idle loop
  // makes no system call.
  void run();
  // run() returns after the current turn. May be called from a callback only.
  void stop();

  // Calls `callback` in the loop's thread for each delivery of `signal_number`. Stays for
  // the life of the loop.
  void on_signal(int signal_number, std::function<void()> callback);

  // For the other parts of net/ only. Owned by the loop.
  [[nodiscard]] event_base* base() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lastcall::net
