// The production HttpClient: libcurl's multi interface driven by an EventLoop.
#pragma once

#include <memory>

#include "net/event_loop.h"
#include "net/http_client.h"

namespace lastcall::net {

// HTTP/1.1 only: one watch and a few short requests need no multiplexing, and an idle
// HTTP/1.1 connection costs no wake-ups. Keeps at most four idle connections.
class CurlClient final : public HttpClient {
 public:
  // `loop` must outlive the client, the client its calls.
  explicit CurlClient(EventLoop& loop);
  ~CurlClient() override;
  CurlClient(const CurlClient&) = delete;
  CurlClient& operator=(const CurlClient&) = delete;

  [[nodiscard]] std::unique_ptr<HttpCall> start(HttpRequest request, HttpHandler& handler) override;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace lastcall::net
