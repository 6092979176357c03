#include "tests/demo/probe.h"

#include <utility>

namespace lastcall::demo {
namespace {

// A kubelet takes a second; the demo has less time.
constexpr std::chrono::milliseconds kPeriod{25};
constexpr std::chrono::milliseconds kTimeout{1000};

}  // namespace

Probe::Probe(net::Loop& loop, net::HttpClient& http, std::string url,
             std::function<void()> on_ready)
    : loop_(loop),
      http_(http),
      url_(std::move(url)),
      on_ready_(std::move(on_ready)),
      again_(loop.make_timer([this] { attempt(); })) {
  attempt();
}

void Probe::attempt() {
  status_ = 0;
  net::HttpRequest request;
  request.url = url_;
  request.headers.add("Connection", "close");
  request.limits.total = kTimeout;
  call_ = http_.start(std::move(request), *this);
}

void Probe::on_end(const net::Status& outcome) {
  if (outcome.ok() && status_ == 200) {
    on_ready_();
  } else {
    again_->arm(loop_.now() + kPeriod);
  }
}

}  // namespace lastcall::demo
