#include "tests/agent/hook/scripted_agent.h"

#include <array>
#include <cstring>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/agent/hook/hook_process.h"

namespace lastcall::hook {
namespace {

int bind_socket(const sockaddr* name, socklen_t size) {
  const int fd = socket(name->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || bind(fd, name, size) == 0) return fd;
  close(fd);
  return -1;
}

bool readable(int fd) {
  pollfd entry{fd, POLLIN, 0};
  const auto timeout = std::chrono::milliseconds(kPatienceOfTests).count();
  return poll(&entry, 1, static_cast<int>(timeout)) == 1;
}

}  // namespace

Connection::Connection(int fd) : fd_(fd) {
  std::array<char, 1024> buffer{};
  while (request_.find("\r\n\r\n") == std::string::npos) {
    const ssize_t count = readable(fd_) ? recv(fd_, buffer.data(), buffer.size(), 0) : -1;
    if (count <= 0) {
      ADD_FAILURE() << "no request, only: " << request_;
      return;
    }
    request_.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

Connection::~Connection() {
  if (fd_ >= 0) close(fd_);
}

void Connection::send(std::string_view text) const {
  EXPECT_EQ(::send(fd_, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
}

ScriptedAgent ScriptedAgent::on_ipv4() {
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(name);
  const int fd = bind_socket(reinterpret_cast<const sockaddr*>(&name), size);
  getsockname(fd, reinterpret_cast<sockaddr*>(&name), &size);
  return {fd, "127.0.0.1:" + std::to_string(ntohs(name.sin_port))};
}

ScriptedAgent ScriptedAgent::on_ipv6() {
  sockaddr_in6 name{};
  name.sin6_family = AF_INET6;
  name.sin6_addr = in6addr_loopback;
  socklen_t size = sizeof(name);
  const int fd = bind_socket(reinterpret_cast<const sockaddr*>(&name), size);
  getsockname(fd, reinterpret_cast<sockaddr*>(&name), &size);
  return {fd, "[::1]:" + std::to_string(ntohs(name.sin6_port))};
}

ScriptedAgent ScriptedAgent::on_unix(const std::string& path) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  path.copy(name.sun_path, sizeof(name.sun_path) - 1);
  return {bind_socket(reinterpret_cast<const sockaddr*>(&name), sizeof(name)), "unix:" + path};
}

ScriptedAgent::~ScriptedAgent() {
  if (fd_ < 0) return;
  close(fd_);
  if (address_.starts_with("unix:")) unlink(address_.c_str() + std::strlen("unix:"));
}

ScriptedAgent::ScriptedAgent(ScriptedAgent&& other) noexcept
    : fd_(other.fd_), address_(std::move(other.address_)) {
  other.fd_ = -1;
}

ScriptedAgent& ScriptedAgent::listen() {
  EXPECT_EQ(::listen(fd_, 8), 0);
  return *this;
}

Connection ScriptedAgent::accept() {
  const int fd = readable(fd_) ? ::accept(fd_, nullptr, nullptr) : -1;
  EXPECT_GE(fd, 0) << "nobody connects";
  return Connection(fd);
}

}  // namespace lastcall::hook
