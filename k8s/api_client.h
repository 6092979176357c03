// Requests to the Kubernetes API with its credentials, errors and limits.
//
// Sources: apiserver handlers and client-go (FACTS 1.3).
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "k8s/cluster.h"
#include "k8s/padded_text.h"
#include "net/http_client.h"
#include "net/loop.h"
#include "net/result.h"
#include "net/token_file.h"

namespace lastcall::k8s {

// One request as metrics see it. Reported once per request sent, when its answer has ended or
// failed (a 401 and the request sent again are two), and never for one that is cancelled.
struct RequestReport {
  std::string_view verb;       // get, list, watch, create
  std::string_view resource;   // pods, services, endpointslices
  int status = 0;              // HTTP status; 0 when there was no answer
  net::Duration first_byte{};  // from the start to the head of the answer
};

struct ApiRequest {
  std::string method = "GET";
  std::string path;  // from the root, with the query
  std::string body;  // sent as application/json when not empty
  std::string_view verb;
  std::string_view resource;
  net::HttpLimits limits;
};

// Receives a streamed answer. on_start only for a 2xx status, then on_body; on_end last.
// As with HttpHandler, the call may be destroyed in any of these. Errors are of the form
// "list endpointslices: HTTP 403: endpointslices.discovery.k8s.io is forbidden: ..".
class ApiHandler {
 public:
  virtual ~ApiHandler() = default;
  // `date`: the answer's Date header, in the server's clock, to the second.
  virtual void on_start(std::optional<net::WallTime> date) = 0;
  virtual void on_body(std::string_view chunk) = 0;
  virtual void on_end(const net::Status& outcome) = 0;
};

class ApiCall {
 public:
  virtual ~ApiCall() = default;
};

struct ApiAnswer {
  PaddedText body;
  std::optional<net::WallTime> date;
  net::Instant asked_at;
  net::Instant answered_at;  // when its head came
};

// Maps an HTTP status and body (a Status object, or plain text) to what the caller should do:
// 401 kReauthenticate, 403 kForbidden, 404 kNotFound, 410 kRelist, 429 and 5xx kRetry with
// Retry-After or details.retryAfterSeconds (capped at a minute), anything else kInvalid. The
// message is one printable line: the Status' message, or the first line of any other body.
[[nodiscard]] net::Error error_from_answer(int status, const net::Headers& headers,
                                           std::string_view body);

class ApiClient {
 public:
  // `loop` and `http` must outlive the client, the client its calls.
  ApiClient(net::Loop& loop, net::HttpClient& http, Cluster cluster);

  // Sends one request and streams the answer, with no callback from inside. A 401 makes the token
  // be read again and the request be sent once more; any other failure is reported as it is:
  // retrying is the caller's business. A 2xx answer whose Content-Type is not JSON is kInvalid.
  [[nodiscard]] std::unique_ptr<ApiCall> stream(ApiRequest request, ApiHandler& handler);

  // As stream(), with the body collected; over `body_bytes_max` it is kInvalid. `done` is
  // called once, unless the call is destroyed before; it may destroy the call.
  [[nodiscard]] std::unique_ptr<ApiCall> fetch(ApiRequest request, std::size_t body_bytes_max,
                                               std::function<void(net::Result<ApiAnswer>)> done);

  // At most one listener; called in the loop's thread.
  void on_report(std::function<void(const RequestReport&)> listener);

  [[nodiscard]] net::Loop& loop() { return loop_; }

 private:
  class Exchange;
  class Collector;

  net::Loop& loop_;
  net::HttpClient& http_;
  Cluster cluster_;
  net::TokenFile token_;
  std::function<void(const RequestReport&)> report_;
};

}  // namespace lastcall::k8s
