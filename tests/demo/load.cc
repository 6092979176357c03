#include "tests/demo/load.h"

#include <string_view>
#include <utility>

#include <arpa/inet.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <netinet/in.h>

#include "tests/demo/replica.h"

namespace lastcall::demo {
namespace {

constexpr timeval kSilenceMax{.tv_sec = 2, .tv_usec = 0};
constexpr std::size_t kAnswerBytesMax = 4096;
// Well under the usual limit of 1024 descriptors; one more request counts as failed.
constexpr std::size_t kUnderWayMax = 512;
constexpr std::string_view kRequest =
    "GET / HTTP/1.1\r\nHost: checkout\r\nConnection: close\r\n\r\n";

bool is_good(std::string_view answer) {
  return answer.starts_with("HTTP/1.1 200 ") &&
         answer.ends_with("\r\n\r\n" + std::string(kReplicaBody));
}

}  // namespace

class Load::Request {
 public:
  using Place = std::list<std::unique_ptr<Request>>::iterator;

  explicit Request(Load& load)
      : load_(load),
        sent_at_(load.loop_.now()),
        bev_(bufferevent_socket_new(load.loop_.base(), -1, BEV_OPT_CLOSE_ON_FREE)) {}
  ~Request() { bufferevent_free(bev_); }
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  [[nodiscard]] net::Instant sent_at() const { return sent_at_; }

  // `place`: where the load keeps it. May end, and destroy, the request.
  void start(Place place, const std::string& host) {
    place_ = place;
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(load_.config_.port);
    inet_pton(AF_INET, host.c_str(), &address.sin_addr);
    bufferevent_setcb(
        bev_, nullptr, nullptr,
        [](bufferevent*, short what, void* self) { static_cast<Request*>(self)->on_event(what); },
        this);
    bufferevent_setwatermark(bev_, EV_READ, 0, kAnswerBytesMax);
    bufferevent_set_timeouts(bev_, &kSilenceMax, &kSilenceMax);
    bufferevent_write(bev_, kRequest.data(), kRequest.size());
    bufferevent_enable(bev_, EV_READ | EV_WRITE);
    bufferevent_socket_connect(bev_, reinterpret_cast<sockaddr*>(&address), sizeof(address));
  }

 private:
  void on_event(short what) {
    if ((what & BEV_EVENT_CONNECTED) != 0) return;
    load_.finish(place_, (what & BEV_EVENT_EOF) != 0 && is_good(answer()));
  }

  [[nodiscard]] std::string answer() const {
    evbuffer* const input = bufferevent_get_input(bev_);
    std::string result(evbuffer_get_length(input), '\0');
    evbuffer_copyout(input, result.data(), result.size());
    return result;
  }

  Load& load_;
  net::Instant sent_at_;
  bufferevent* bev_;
  Place place_;
};

Load::Load(net::EventLoop& loop, Config config, Recording& recording)
    : loop_(loop),
      config_(std::move(config)),
      recording_(recording),
      timer_(loop.make_timer([this] { send_due(); })) {}

Load::~Load() = default;

void Load::start() {
  began_ = loop_.now();
  timer_->arm(began_);
}

void Load::stop() {
  stopped_ = true;
  timer_->disarm();
  if (under_way_.empty()) config_.on_idle();
}

net::Instant Load::due_at() const {
  return began_ + std::chrono::nanoseconds(seconds(1)) * sent_ / config_.rate;
}

// All that are due: a late turn of the loop does not lower the rate.
void Load::send_due() {
  while (due_at() <= loop_.now()) {
    ++sent_;
    send();
  }
  timer_->arm(due_at());
}

void Load::send() {
  const auto host = config_.choose();
  if (!host || under_way_.size() >= kUnderWayMax) return record(loop_.now(), false);
  const auto place = under_way_.insert(under_way_.end(), std::make_unique<Request>(*this));
  (*place)->start(place, *host);
}

void Load::finish(Request::Place request, bool ok) {
  record((*request)->sent_at(), ok);
  under_way_.erase(request);
  if (stopped_ && under_way_.empty()) config_.on_idle();
}

void Load::record(net::Instant at, bool ok) {
  recording_.samples.push_back({at, ok});
  if (!ok) ++recording_.failed;
}

}  // namespace lastcall::demo
