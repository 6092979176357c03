#include "agent/hook/wait.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string_view>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/hook/answer.h"
#include "agent/hook/patience.h"
#include "agent/hook/say.h"

namespace lastcall::hook {
namespace {

using Clock = std::chrono::steady_clock;

// What came of asking once.
struct Attempt {
  bool released = false;
  std::string_view reason;              // why not
  std::optional<TimePoint> held_since;  // when the agent had got the request
};

class Socket {
 public:
  explicit Socket(int family)
      : fd_(socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {}
  ~Socket() {
    if (fd_ >= 0) close(fd_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  [[nodiscard]] int fd() const { return fd_; }

 private:
  const int fd_;
};

// Milliseconds for poll(), rounded up: rounded down, the last one would be spent spinning.
int poll_timeout(std::optional<TimePoint> deadline) {
  if (!deadline) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now());
  return static_cast<int>(std::clamp<std::chrono::milliseconds::rep>(left.count(), 0, INT_MAX));
}

// True when `fd` is ready for `events` or has failed; false when the deadline has passed.
bool wait_for(int fd, short events, std::optional<TimePoint> deadline) {
  while (true) {
    pollfd entry{fd, events, 0};
    const int ready = poll(&entry, 1, poll_timeout(deadline));
    if (ready > 0) return true;
    if (ready == 0 && deadline && Clock::now() >= *deadline) return false;
  }
}

void sleep_until(TimePoint when) {
  while (Clock::now() < when) poll(nullptr, 0, poll_timeout(when));
}

// Returns 0 or an errno.
int connect_to(const Address& address, int fd, TimePoint deadline) {
  const auto* name = reinterpret_cast<const sockaddr*>(&address.socket);
  if (connect(fd, name, address.size) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  if (!wait_for(fd, POLLOUT, deadline)) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof(error);
  if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) return errno;
  return error;
}

// A fresh socket takes these few bytes whole.
bool send_request(const Address& address, int fd) {
  constexpr std::string_view kStart = "POST /hold HTTP/1.1\r\nHost: ";
  constexpr std::string_view kEnd = "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
  const std::string_view host =
      address.socket.ss_family == AF_UNIX ? std::string_view("localhost") : address.text;
  std::array<char, 256> request{};
  std::size_t size = 0;
  for (const std::string_view part : {kStart, host, kEnd}) {
    std::memcpy(request.data() + size, part.data(), part.size());
    size += part.size();
  }
  return send(fd, request.data(), size, MSG_NOSIGNAL) == static_cast<ssize_t>(size);
}

Attempt read_answer(int fd, std::optional<TimePoint> deadline) {
  std::array<char, kStatusLineBytesMax> received{};
  std::size_t size = 0;
  const TimePoint held_since = Clock::now();
  while (true) {
    if (!wait_for(fd, POLLIN, deadline)) return {false, "no answer in time", held_since};
    const ssize_t count = recv(fd, received.data() + size, received.size() - size, 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (count <= 0) return {false, "the connection was cut before an answer", held_since};
    size += static_cast<std::size_t>(count);
    switch (parse_answer({received.data(), size})) {
      case Answer::kIncomplete:
        continue;
      case Answer::kReleased:
        return {true, {}, held_since};
      case Answer::kRefused:
        return {false, "its answer was not 200", held_since};
      case Answer::kGarbage:
        return {false, "its answer was not HTTP", held_since};
    }
  }
}

Attempt ask(const Address& address, const Patience& patience) {
  const Socket socket(address.socket.ss_family);
  if (socket.fd() < 0) return {false, describe(errno), {}};
  const int error = connect_to(address, socket.fd(), patience.reach_by());
  if (error != 0) return {false, describe(error), {}};
  if (!send_request(address, socket.fd())) {
    return {false, "the connection was cut before the request", {}};
  }
  return read_answer(socket.fd(), patience.answer_by());
}

}  // namespace

void wait(const WaitOptions& options) {
  Patience patience(Clock::now(), options.timeout, options.fallback);
  std::string_view said;
  while (true) {
    const Attempt attempt = ask(options.agent, patience);
    if (attempt.released) return;
    const TimePoint now = Clock::now();
    if (attempt.held_since) patience.lost(*attempt.held_since, now);
    const std::optional<TimePoint> retry_at = patience.retry_at(now);
    if (patience.timed_out(now)) {
      return say_in_log({"the agent at ", options.agent.text,
                         " has not released within --timeout, the container stops now"});
    }
    if (attempt.reason != said) {
      say_in_log({"no release from the agent at ", options.agent.text, ": ", attempt.reason,
                  retry_at ? ", trying again" : ""});
      said = attempt.reason;
    }
    if (!retry_at) {
      return say_in_log({"the agent at ", options.agent.text,
                         " stayed away, the container stops as after a plain sleep"});
    }
    sleep_until(*retry_at);
  }
}

}  // namespace lastcall::hook
