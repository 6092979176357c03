// A real event loop that a test runs until something has happened.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "net/event_loop.h"
#include "net/http_client.h"

namespace lastcall::net {

class World {
 public:
  EventLoop loop;

  // Runs the loop until `condition` holds. It is looked at whenever one of the test doubles has
  // called touch(). A condition that never holds fails the test.
  void until(const std::function<bool()>& condition);
  void touch();
  // Lets real time pass on the loop: only where a timeout itself is under test.
  void run_for(std::chrono::milliseconds duration);

 private:
  const std::function<bool()>* condition_ = nullptr;
};

// Keeps what an HttpClient reports of one request.
class Recorder : public HttpHandler {
 public:
  explicit Recorder(World& world) : world_(world) {}

  // May destroy the call, or start another one.
  std::function<void()> when_head;
  std::function<void()> when_body;
  std::function<void()> when_end;

  void on_head(const HttpResponseHead& head) override;
  void on_body(std::string_view chunk) override;
  void on_end(const Status& outcome) override;

  [[nodiscard]] int status() const { return heads.empty() ? 0 : heads.front().status; }
  [[nodiscard]] bool ended() const { return ends == 1; }
  // "ok", or the code and the message of the error.
  [[nodiscard]] const std::string& outcome() const { return outcome_; }

  std::vector<HttpResponseHead> heads;
  std::string body;
  int chunks = 0;
  int ends = 0;

 private:
  World& world_;
  std::string outcome_ = "none";
};

}  // namespace lastcall::net
