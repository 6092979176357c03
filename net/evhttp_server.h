// The production HttpServer: libevent's evhttp on an EventLoop.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "net/event_loop.h"
#include "net/http_server.h"

namespace lastcall::net {

struct ServerLimits {
  std::size_t header_bytes_max = std::size_t{16} * 1024;
  std::size_t body_bytes_max = std::size_t{16} * 1024;
  // A connection that sends nothing for so long, in the middle of a request or between
  // two, is closed. A parked request (received whole, not yet answered) is not idle.
  // Whatever a peer dribbles, it has twice as long to send a request or take an answer.
  std::chrono::milliseconds idle{10'000};
  // Requests received and not yet answered; one more is answered 503 at once.
  std::size_t parked_max = 256;
  // Open connections; at the bound, accepting pauses until some have gone.
  std::size_t connections_max = 512;
};

// Listens on a TCP address ("127.0.0.1:19101", "[::]:19100"; port 0 picks a free one; "[::]"
// takes IPv4 as well, and is 0.0.0.0 on a host without IPv6) or on a unix socket
// ("unix:/run/lastcall/agent.sock": created with mode 0600, a stale file of an earlier run is
// replaced, removed at the end).
class EvhttpServer final : public HttpServer {
 public:
  // `loop` must outlive the server. kFatal when the address cannot be parsed or bound.
  [[nodiscard]] static Result<std::unique_ptr<EvhttpServer>> listen(EventLoop& loop,
                                                                    const std::string& address,
                                                                    ServerLimits limits);
  ~EvhttpServer() override;

  // GET, HEAD and POST; other methods are answered 501.
  void on_request(Handler handler) override;

  // Where it listens, in the form listen() takes, with the real port.
  [[nodiscard]] const std::string& address() const;

 private:
  class Impl;
  explicit EvhttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace lastcall::net
