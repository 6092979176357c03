// An open-loop load: requests come when they come, however the earlier ones fare.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "net/event_loop.h"
#include "tests/demo/recording.h"

namespace lastcall::demo {

// Sends GETs at a constant rate, each on a new connection to whom `choose` says, and counts as
// failed what is not answered whole with 200: refused, reset, cut short, silent for 2 s, or
// with nobody to send it to.
class Load {
 public:
  struct Config {
    int rate = 0;  // per second
    std::uint16_t port = 0;
    std::function<std::optional<std::string>()> choose;  // an IPv4 address
    std::function<void()> on_idle;                       // stopped, and every answer is in
  };

  // Adds its samples to `recording`, at the end of each request. Both must outlive it.
  Load(net::EventLoop& loop, Config config, Recording& recording);
  ~Load();
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  void start();
  void stop();

 private:
  class Request;

  void send_due();
  void send();
  void finish(std::list<std::unique_ptr<Request>>::iterator request, bool ok);
  void record(net::Instant at, bool ok);
  [[nodiscard]] net::Instant due_at() const;

  net::EventLoop& loop_;
  Config config_;
  Recording& recording_;
  net::Instant began_;
  std::int64_t sent_ = 0;
  bool stopped_ = false;
  std::unique_ptr<net::Timer> timer_;
  std::list<std::unique_ptr<Request>> under_way_;
};

}  // namespace lastcall::demo
