// The other end of a connection, saying exactly the bytes that a test wants said.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/net/world.h"

struct bufferevent;
struct evconnlistener;
struct sockaddr;

namespace lastcall::net {

// One connection of either kind, without any idea of HTTP.
class Wire {
 public:
  Wire(World& world, bufferevent* bev);
  // Connects to "127.0.0.1:port", "[::1]:port" or "unix:path".
  Wire(World& world, const std::string& address);
  ~Wire();
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  void say(std::string_view bytes);
  // Closes once everything said has left.
  void close();
  void half_close();
  // Closes with a TCP reset.
  void reset();

  // Called whenever bytes have come.
  std::function<void()> when_heard;
  std::string heard;
  bool peer_closed = false;

 private:
  void take_on();
  void on_read();
  void on_event();
  void on_written();
  void shut();

  World& world_;
  bufferevent* bev_;
  bool closing_ = false;
};

// A server of one behaviour: `when_request` is called for each request head (and body, when
// the client sent both at once).
class ScriptedServer {
 public:
  using Script = std::function<void(Wire&)>;

  ScriptedServer(World& world, Script when_request);
  ~ScriptedServer();
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  [[nodiscard]] std::string peer() const;  // "127.0.0.1:port"
  [[nodiscard]] std::string url(std::string_view path = "/") const;
  std::vector<std::unique_ptr<Wire>> wires;

 private:
  void on_accept(int fd);

  World& world_;
  Script when_request_;
  evconnlistener* listener_;
};

// A port of the loopback where nobody listens.
int closed_port();

}  // namespace lastcall::net
