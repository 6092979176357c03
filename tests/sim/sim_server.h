// A listener of the agent's, with its callers on the other side.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "net/http_server.h"

namespace lastcall::sim {

class SimServer final : public net::HttpServer {
 public:
  // nullopt: the connection broke before an answer.
  using Answered = std::function<void(std::optional<net::ServerResponse>)>;

  SimServer() = default;
  ~SimServer() override { die(); }
  SimServer(const SimServer&) = delete;
  SimServer& operator=(const SimServer&) = delete;

  void on_request(Handler handler) override { handler_ = std::move(handler); }

  // Sends a request; `answered` is called once, perhaps from inside.
  void send(const net::ServerRequest& request, Answered answered);

  // The process behind it has died: connections break, and nothing is accepted any more.
  void die();
  // All callers go without waiting for their answers.
  void hang_up();
  // Callers that wait.
  [[nodiscard]] std::size_t waiting() const;
  // Answers are lost on their way, and callers wait for ever.
  void swallow_answers() { swallowing_ = true; }
  // The first request is never handed over, and waits for ever.
  void forget_first() { forgetting_ = true; }
  // Answers everything 200 "released" by itself.
  void answer_at_once() { hasty_ = true; }

 private:
  struct Parked {
    SimServer* server;
    Answered answered;  // empty: over
    std::function<void()> gone{};
  };
  class ParkedResponder;

  Handler handler_;
  bool dead_ = false;
  bool swallowing_ = false;
  bool forgetting_ = false;
  std::shared_ptr<Parked> forgotten_;
  bool hasty_ = false;
  std::vector<std::weak_ptr<Parked>> parked_;
};

}  // namespace lastcall::sim
