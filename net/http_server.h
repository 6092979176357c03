// A small HTTP server with answers that may come much later: the other seam.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "net/result.h"

namespace lastcall::net {

struct ServerRequest {
  std::string method;
  std::string path;   // decoded, without the query
  std::string query;  // as sent, without the question mark; empty when there is none
  std::string body;
  std::string peer;  // address of the caller without the port; empty on a unix socket
};

struct ServerResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
};

// The right to answer one request, now or later. Moves with its owner. Destroying it
// without an answer sends 503.
class Responder {
 public:
  virtual ~Responder() = default;
  // Sends the answer; at most once. Nothing happens when the peer has gone.
  virtual void respond(const ServerResponse& response) = 0;
  // Called once when the peer goes before the answer; the Responder may be destroyed in it.
  // To be set from within the handler. A peer that only closes its sending side has gone too.
  virtual void on_gone(std::function<void()> callback) = 0;
};

class HttpServer {
 public:
  using Handler = std::function<void(const ServerRequest&, std::unique_ptr<Responder>)>;

  virtual ~HttpServer() = default;
  // Every request goes to this one handler; set it before the loop runs.
  virtual void on_request(Handler handler) = 0;
};

}  // namespace lastcall::net
