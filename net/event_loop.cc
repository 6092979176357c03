#include "net/event_loop.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include <event2/event.h>

namespace lastcall::net {
namespace {

using Callback = std::function<void()>;

struct EventFree {
  void operator()(event* e) const { event_free(e); }
};
using EventPtr = std::unique_ptr<event, EventFree>;

// libevent's warnings tell of what peers do, which its callers hear about anyway; its errors
// come right before it gives up.
void on_libevent_log(int severity, const char* message) {
  if (severity == EVENT_LOG_ERR) (void)std::fprintf(stderr, "libevent: %s\n", message);
}

void on_libevent_fatal(int /*error*/) { std::abort(); }

event_base* make_base() {
  event_set_log_callback(on_libevent_log);
  event_set_fatal_callback(on_libevent_fatal);
  event_config* const config = event_config_new();
  // Without it libevent counts on the coarse clock, whose ticks are as long as 4 ms.
  event_config_set_flag(config, EVENT_BASE_FLAG_PRECISE_TIMER);
  event_base* const base = event_base_new_with_config(config);
  event_config_free(config);
  if (base == nullptr) {
    (void)std::fputs("cannot create an event loop\n", stderr);
    std::abort();
  }
  return base;
}

timeval to_timeval_rounded_up(Duration duration) {
  const auto us = std::chrono::ceil<std::chrono::microseconds>(duration);
  const auto s = std::chrono::floor<std::chrono::seconds>(us);
  return {.tv_sec = s.count(), .tv_usec = (us - s).count()};
}

class EventTimer final : public Timer {
 public:
  EventTimer(const EventLoop& loop, Callback callback)
      : loop_(loop),
        callback_(std::make_shared<Callback>(std::move(callback))),
        event_(evtimer_new(
            loop.base(), [](int, short, void* self) { static_cast<EventTimer*>(self)->on_event(); },
            this)) {}

  void arm(Instant when) override {
    when_ = when;
    schedule();
  }
  void disarm() override { event_del(event_.get()); }

 private:
  void schedule() {
    const timeval delay = to_timeval_rounded_up(std::max(when_ - loop_.now(), Duration::zero()));
    event_add(event_.get(), &delay);
  }

  void on_event() {
    // The turn's time may have been sampled before this timer was due.
    if (loop_.now() < when_) return schedule();
    // Destroying the timer from its own callback must not destroy the callback under way.
    const auto callback = callback_;
    (*callback)();
  }

  const EventLoop& loop_;
  std::shared_ptr<Callback> callback_;
  Instant when_{};
  EventPtr event_;
};

}  // namespace

class EventLoop::Impl {
 public:
  Impl() : base_(make_base()) {}
  ~Impl() {
    signals_.clear();
    event_base_free(base_);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  [[nodiscard]] Instant now() {
    if (!running_) return std::chrono::steady_clock::now();
    if (!turn_started_) turn_started_ = std::chrono::steady_clock::now();
    return *turn_started_;
  }

  void run() {
    running_ = true;
    while (running_) {
      event_base_loop(base_, EVLOOP_ONCE | EVLOOP_NO_EXIT_ON_EMPTY);
      turn_started_.reset();
    }
  }
  void stop() { running_ = false; }

  void on_signal(int signal_number, Callback callback) {
    auto& signal = signals_.emplace_back(std::make_unique<Signal>());
    signal->callback = std::move(callback);
    signal->event.reset(evsignal_new(
        base_, signal_number, [](int, short, void* s) { static_cast<Signal*>(s)->callback(); },
        signal.get()));
    event_add(signal->event.get(), nullptr);
  }

  [[nodiscard]] event_base* base() const { return base_; }
  [[nodiscard]] std::uint32_t random() { return static_cast<std::uint32_t>(random_()); }

 private:
  struct Signal {
    Callback callback;
    EventPtr event;
  };

  event_base* base_;
  bool running_ = false;
  std::optional<Instant> turn_started_;
  std::vector<std::unique_ptr<Signal>> signals_;
  std::mt19937 random_{std::random_device{}()};
};

EventLoop::EventLoop() : impl_(std::make_unique<Impl>()) {
  // Both libevent and OpenSSL write to sockets that their peer may have closed.
  (void)std::signal(SIGPIPE, SIG_IGN);
}

EventLoop::~EventLoop() = default;

Instant EventLoop::now() const { return impl_->now(); }
WallTime EventLoop::wall_now() const { return std::chrono::system_clock::now(); }

std::unique_ptr<Timer> EventLoop::make_timer(Callback callback) {
  return std::make_unique<EventTimer>(*this, std::move(callback));
}

std::uint32_t EventLoop::random() { return impl_->random(); }
void EventLoop::run() { impl_->run(); }
void EventLoop::stop() { impl_->stop(); }
void EventLoop::on_signal(int signal_number, Callback callback) {
  impl_->on_signal(signal_number, std::move(callback));
}
event_base* EventLoop::base() const { return impl_->base(); }

}  // namespace lastcall::net
