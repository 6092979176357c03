#include "tests/net/scripted_peer.h"

#include <cstring>

#include "gtest/gtest.h"
#include <arpa/inet.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/listener.h>
#include <event2/util.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace lastcall::net {
namespace {

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int port_of(int fd) {
  sockaddr_in address{};
  socklen_t size = sizeof(address);
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

bufferevent* connect_to(World& world, const std::string& address) {
  sockaddr_storage to{};
  int size = sizeof(to);
  if (address.starts_with("unix:")) {
    sockaddr_un un{};
    un.sun_family = AF_UNIX;
    address.copy(un.sun_path, sizeof(un.sun_path) - 1, std::strlen("unix:"));
    std::memcpy(&to, &un, sizeof(un));
    size = sizeof(un);
  } else {
    EXPECT_EQ(evutil_parse_sockaddr_port(address.c_str(), reinterpret_cast<sockaddr*>(&to), &size),
              0)
        << address;
  }
  bufferevent* const bev = bufferevent_socket_new(world.loop.base(), -1, 0);
  bufferevent_socket_connect(bev, reinterpret_cast<sockaddr*>(&to), size);
  return bev;
}

}  // namespace

Wire::Wire(World& world, bufferevent* bev) : world_(world), bev_(bev) { take_on(); }

Wire::Wire(World& world, const std::string& address) : Wire(world, connect_to(world, address)) {}

Wire::~Wire() { shut(); }

void Wire::take_on() {
  bufferevent_setcb(
      bev_, [](bufferevent*, void* self) { static_cast<Wire*>(self)->on_read(); },
      [](bufferevent*, void* self) { static_cast<Wire*>(self)->on_written(); },
      [](bufferevent*, short what, void* self) {
        if ((what & BEV_EVENT_CONNECTED) == 0) static_cast<Wire*>(self)->on_event();
      },
      this);
  bufferevent_enable(bev_, EV_READ | EV_WRITE);
}

void Wire::say(std::string_view bytes) {
  if (bev_ != nullptr) bufferevent_write(bev_, bytes.data(), bytes.size());
}

void Wire::close() {
  closing_ = true;
  if (bev_ != nullptr && evbuffer_get_length(bufferevent_get_output(bev_)) == 0) shut();
}

void Wire::half_close() { shutdown(bufferevent_getfd(bev_), SHUT_WR); }

void Wire::reset() {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  setsockopt(bufferevent_getfd(bev_), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  shut();
}

void Wire::on_read() {
  evbuffer* const input = bufferevent_get_input(bev_);
  std::string bytes(evbuffer_get_length(input), '\0');
  evbuffer_remove(input, bytes.data(), bytes.size());
  heard += bytes;
  if (when_heard) when_heard();
  world_.touch();
}

void Wire::on_event() {
  peer_closed = true;
  shut();
  world_.touch();
}

void Wire::on_written() {
  if (closing_) shut();
}

void Wire::shut() {
  if (bev_ == nullptr) return;
  const int fd = bufferevent_getfd(bev_);
  bufferevent_free(bev_);
  if (fd >= 0) ::close(fd);
  bev_ = nullptr;
}

ScriptedServer::ScriptedServer(World& world, Script when_request)
    : world_(world), when_request_(std::move(when_request)) {
  const sockaddr_in any_port = loopback(0);
  listener_ = evconnlistener_new_bind(
      world.loop.base(),
      [](evconnlistener*, evutil_socket_t fd, sockaddr*, int, void* self) {
        static_cast<ScriptedServer*>(self)->on_accept(fd);
      },
      this, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, -1,
      reinterpret_cast<const sockaddr*>(&any_port), sizeof(any_port));
}

ScriptedServer::~ScriptedServer() { evconnlistener_free(listener_); }

void ScriptedServer::on_accept(int fd) {
  auto& wire = *wires.emplace_back(
      std::make_unique<Wire>(world_, bufferevent_socket_new(world_.loop.base(), fd, 0)));
  wire.when_heard = [this, &wire] {
    if (wire.heard.find("\r\n\r\n") != std::string::npos) when_request_(wire);
  };
}

std::string ScriptedServer::peer() const {
  return "127.0.0.1:" + std::to_string(port_of(evconnlistener_get_fd(listener_)));
}

std::string ScriptedServer::url(std::string_view path) const {
  return "http://" + peer() + std::string(path);
}

int closed_port() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in any_port = loopback(0);
  EXPECT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&any_port), sizeof(any_port)), 0);
  const int port = port_of(fd);
  ::close(fd);
  return port;
}

}  // namespace lastcall::net
