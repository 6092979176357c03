#include "tests/sim/sim_server.h"

#include <algorithm>
#include <utility>

namespace lastcall::sim {

class SimServer::ParkedResponder final : public net::Responder {
 public:
  explicit ParkedResponder(std::shared_ptr<Parked> parked) : parked_(std::move(parked)) {}
  ~ParkedResponder() override { respond({.status = 503, .body = "not answered\n"}); }
  ParkedResponder(const ParkedResponder&) = delete;
  ParkedResponder& operator=(const ParkedResponder&) = delete;

  void respond(const net::ServerResponse& response) override {
    const auto answered = std::exchange(parked_->answered, nullptr);
    if (answered && !parked_->server->swallowing_) answered(response);
  }
  void on_gone(std::function<void()> callback) override { parked_->gone = std::move(callback); }

 private:
  std::shared_ptr<Parked> parked_;
};

void SimServer::send(const net::ServerRequest& request, Answered answered) {
  if (dead_ || !handler_) {
    answered(std::nullopt);
    return;
  }
  if (hasty_) {
    answered(net::ServerResponse{.body = "released\n"});
    return;
  }
  auto parked = std::make_shared<Parked>(Parked{this, std::move(answered), {}});
  parked_.push_back(parked);
  if (std::exchange(forgetting_, false)) {
    forgotten_ = std::move(parked);
    return;
  }
  handler_(request, std::make_unique<ParkedResponder>(std::move(parked)));
}

void SimServer::hang_up() {
  for (const auto& weak : std::exchange(parked_, {})) {
    const auto parked = weak.lock();
    if (!parked || !std::exchange(parked->answered, nullptr)) continue;
    if (const auto gone = std::exchange(parked->gone, nullptr)) gone();
  }
}

std::size_t SimServer::waiting() const {
  return static_cast<std::size_t>(
      std::count_if(parked_.begin(), parked_.end(), [](const auto& weak) {
        const auto parked = weak.lock();
        return parked && parked->answered;
      }));
}

void SimServer::die() {
  dead_ = true;
  for (const auto& weak : std::exchange(parked_, {})) {
    const auto parked = weak.lock();
    if (!parked) continue;
    if (const auto answered = std::exchange(parked->answered, nullptr)) answered(std::nullopt);
  }
}

}  // namespace lastcall::sim
