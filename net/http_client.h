// HTTP requests as streams of bytes: the seam to the network.
//
// This is as low as the code under test ever sees: simulations implement HttpClient and
// hand out heads and chunks as a peer would, so that framing, parsing and error handling
// are the real ones.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/result.h"

namespace lastcall::net {

// Names are compared without regard to case.
class Headers {
 public:
  void add(std::string name, std::string value) {
    fields_.emplace_back(std::move(name), std::move(value));
  }
  // The first value of that name, or nullptr.
  [[nodiscard]] const std::string* find(std::string_view name) const;
  [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& fields() const {
    return fields_;
  }

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

// Bounds of one request. Zero means no bound, for `total` and `idle` only.
struct HttpLimits {
  std::chrono::milliseconds connect{5'000};      // name resolution, TCP and TLS
  std::chrono::milliseconds first_byte{10'000};  // from the start to the head of the answer
  std::chrono::milliseconds idle{30'000};        // between two chunks of the body
  std::chrono::milliseconds total{60'000};
  std::size_t header_bytes_max = std::size_t{64} * 1024;
};

struct HttpRequest {
  std::string method = "GET";
  std::string url;  // http:// or https://, complete
  Headers headers;
  std::string body;
  // PEM bundle that the server's certificate must chain to; empty: the system's.
  // Read again for new connections within a minute of a change.
  std::string ca_file;
  HttpLimits limits;
};

struct HttpResponseHead {
  int status = 0;
  Headers headers;
};

// Receives one answer: on_head once, on_body any number of times, on_end once and last.
// on_end may come first (no connection). The handler may destroy its HttpCall at any of
// these, and then hears no more.
class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  virtual void on_head(const HttpResponseHead& head) = 0;
  // `chunk` is valid during the call only.
  virtual void on_body(std::string_view chunk) = 0;
  // Done: the body is complete as HTTP frames it, whatever the status. Otherwise kRetry for
  // whatever the network did (refused, reset, timed out, cut short, broken chunks) and for a
  // certificate that is not trusted (authorities rotate), kInvalid for a head over its bound or
  // not HTTP, kFatal for a URL, a header or a CA file that cannot be used. The message begins
  // with "host:port: " and holds nothing of the request's headers or query.
  virtual void on_end(const Status& outcome) = 0;
};

// A request under way. Destroying it cancels it without a further callback.
class HttpCall {
 public:
  virtual ~HttpCall() = default;
};

class HttpClient {
 public:
  virtual ~HttpClient() = default;
  // Starts the request; `handler` must outlive the returned call. No callback happens from
  // inside start(). Follows no redirects, reads no .netrc and no proxy variables.
  [[nodiscard]] virtual std::unique_ptr<HttpCall> start(HttpRequest request,
                                                        HttpHandler& handler) = 0;
};

}  // namespace lastcall::net
