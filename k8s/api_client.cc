#include "k8s/api_client.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

#include "k8s/json_walk.h"
#include "k8s/time.h"

namespace lastcall::k8s {
namespace {

constexpr std::size_t kErrorBodyBytesMax = std::size_t{64} * 1024;
constexpr std::size_t kStatusMessageBytesMax = 500;
constexpr std::size_t kPlainMessageBytesMax = 200;
constexpr std::chrono::seconds kRetryAfterMax{60};

constexpr int kOk = 200;
constexpr int kMultipleChoices = 300;
constexpr int kUnauthorized = 401;
constexpr std::size_t kContentTypeBytesMax = 60;
constexpr int kForbidden = 403;
constexpr int kNotFound = 404;
constexpr int kGone = 410;
constexpr int kTooManyRequests = 429;
constexpr int kInternalError = 500;

bool is_success(int status) { return status >= kOk && status < kMultipleChoices; }

net::ErrorCode code_of(int status) {
  switch (status) {
    case kUnauthorized:
      return net::ErrorCode::kReauthenticate;
    case kForbidden:
      return net::ErrorCode::kForbidden;
    case kNotFound:
      return net::ErrorCode::kNotFound;
    case kGone:
      return net::ErrorCode::kRelist;
    case kTooManyRequests:
      return net::ErrorCode::kRetry;
    default:
      return status >= kInternalError ? net::ErrorCode::kRetry : net::ErrorCode::kInvalid;
  }
}

// What matters of a metav1.Status.
struct ApiStatus {
  std::string message;
  std::int64_t retry_after_seconds = 0;
};

std::optional<ApiStatus> parse_status(std::string_view body) {
  std::string_view kind;
  std::string_view message;
  std::string_view reason;
  ApiStatus status;
  simdjson::ondemand::parser parser;
  JsonWalk walk(parser);
  const auto in_details = [&](JsonWalk::Key key, JsonWalk::Value value) {
    return key != "retryAfterSeconds" ||
           walk.integer(value, "details.retryAfterSeconds", status.retry_after_seconds);
  };
  const auto in_status = [&](JsonWalk::Key key, JsonWalk::Value value) {
    if (key == "kind") return walk.string(value, "kind", kind);
    if (key == "message") return walk.string(value, "message", message);
    if (key == "reason") return walk.string(value, "reason", reason);
    if (key == "details") return walk.object(value, "details", in_details);
    return true;
  };
  const PaddedText text(body);
  if (!walk.document(text, in_status) || kind != "Status") return std::nullopt;
  status.message = message.empty() ? reason : message;
  return status;
}

std::string printable(std::string_view text, std::size_t bytes_max) {
  std::string line(text.substr(0, bytes_max));
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c < ' ' || c > '~'; }, ' ');
  if (text.size() > bytes_max) line += "...";
  return line;
}

std::string_view first_line(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_first_of("\r\n"));
}

// The seconds form of Retry-After; the API server uses no other.
std::optional<std::int64_t> parse_seconds(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::chrono::milliseconds> retry_after(const net::Headers& headers,
                                                     std::int64_t status_seconds) {
  const std::string* const header = headers.find("Retry-After");
  const std::int64_t seconds =
      header == nullptr ? status_seconds : parse_seconds(*header).value_or(status_seconds);
  if (seconds <= 0) return std::nullopt;
  return std::chrono::seconds(std::min<std::int64_t>(seconds, kRetryAfterMax.count()));
}

bool is_json(const net::Headers& headers) {
  static constexpr std::string_view kJson = "application/json";
  const std::string* const type = headers.find("Content-Type");
  if (type == nullptr) return false;
  const std::string_view essence = std::string_view(*type).substr(0, type->find_first_of("; "));
  const auto same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
  return std::equal(essence.begin(), essence.end(), kJson.begin(), kJson.end(), same);
}

// For people: what the answer calls itself.
std::string content_type(const net::Headers& headers) {
  const std::string* const type = headers.find("Content-Type");
  return type == nullptr ? "of no type" : printable(*type, kContentTypeBytesMax);
}

std::optional<net::WallTime> date_of(const net::Headers& headers) {
  const std::string* const date = headers.find("Date");
  return date == nullptr ? std::nullopt : parse_http_date(*date);
}

}  // namespace

net::Error error_from_answer(int status, const net::Headers& headers, std::string_view body) {
  net::Error error{code_of(status), "HTTP " + std::to_string(status), std::nullopt};
  const std::optional<ApiStatus> api_status = parse_status(body);
  const std::string message = api_status ? printable(api_status->message, kStatusMessageBytesMax)
                                         : printable(first_line(body), kPlainMessageBytesMax);
  if (!message.empty()) error.message += ": " + message;
  if (error.code == net::ErrorCode::kRetry) {
    error.retry_after = retry_after(headers, api_status ? api_status->retry_after_seconds : 0);
  }
  return error;
}

class ApiClient::Exchange final : public ApiCall, private net::HttpHandler {
 public:
  Exchange(ApiClient& client, ApiRequest request, ApiHandler& handler)
      : client_(client),
        request_(std::move(request)),
        handler_(handler),
        failure_timer_(client.loop_.make_timer([this] { finish(failure_); })) {}

  void send() {
    sent_at_ = client_.loop_.now();
    net::HttpRequest http;
    http.method = request_.method;
    http.url = client_.cluster_.server + request_.path;
    http.body = request_.body;
    http.limits = request_.limits;
    if (http.url.starts_with("https:")) http.ca_file = client_.cluster_.ca_file;
    http.headers.add("Accept", "application/json");
    http.headers.add("User-Agent", "lastcall");
    if (!http.body.empty()) http.headers.add("Content-Type", "application/json");
    if (has_token()) {
      net::Result<std::string> token = client_.token_.read();
      if (!token) return fail_later(token.error());
      token_ = std::move(token).value();
      http.headers.add("Authorization", "Bearer " + token_);
    }
    call_ = client_.http_.start(std::move(http), *this);
  }

 private:
  void on_head(const net::HttpResponseHead& head) override {
    status_ = head.status;
    first_byte_ = client_.loop_.now() - sent_at_;
    headers_ = head.headers;
    if (!is_success(status_)) return;
    if (is_json(headers_)) {
      handler_.on_start(date_of(headers_));
    } else {
      finish(net::Error{net::ErrorCode::kInvalid,
                        "HTTP " + std::to_string(status_) + ": the answer is " +
                            content_type(headers_) + ", expected JSON",
                        std::nullopt});
    }
  }

  void on_body(std::string_view chunk) override {
    if (is_success(status_)) return handler_.on_body(chunk);
    error_body_ += chunk.substr(0, kErrorBodyBytesMax - error_body_.size());
    if (error_body_.size() == kErrorBodyBytesMax) refused();
  }

  void on_end(const net::Status& outcome) override {
    const bool has_refusal = status_ != 0 && !is_success(status_);
    if (has_refusal) return refused();
    finish(net::Status(outcome));
  }

  void refused() {
    if (status_ == kUnauthorized && has_token() && !sent_again_) return send_again();
    net::Error error = error_from_answer(status_, headers_, error_body_);
    // A proxy that echoes what it was sent must not bring the token into a log.
    if (has_token() && error.message.find(token_) != std::string::npos) {
      error.message = "HTTP " + std::to_string(status_);
    }
    if (status_ == kUnauthorized && has_token() && !client_.token_.trouble().empty()) {
      error.message += " (token file " + client_.token_.trouble() + ")";
    }
    finish(std::move(error));
  }

  void send_again() {
    report();
    sent_again_ = true;
    status_ = 0;
    first_byte_ = {};
    headers_ = {};
    error_body_.clear();
    client_.token_.distrust();
    send();
  }

  void fail_later(net::Error error) {
    call_.reset();
    failure_ = std::move(error);
    failure_timer_->arm(client_.loop_.now());
  }

  // Last in every callback: the handler may destroy this. A copy, because ending the call may
  // destroy what the outcome was read from.
  void finish(net::Status outcome) {  // NOLINT(performance-unnecessary-value-param)
    report();
    call_.reset();
    if (outcome.ok()) return handler_.on_end(outcome);
    const std::string context = std::string(request_.verb) + " " + std::string(request_.resource);
    handler_.on_end(outcome.error().in(context));
  }

  void report() const {
    if (!client_.report_) return;
    client_.report_({.verb = request_.verb,
                     .resource = request_.resource,
                     .status = status_,
                     .first_byte = first_byte_});
  }

  [[nodiscard]] bool has_token() const { return !client_.cluster_.token_file.empty(); }

  ApiClient& client_;
  ApiRequest request_;
  ApiHandler& handler_;
  std::unique_ptr<net::Timer> failure_timer_;
  net::Error failure_;
  std::unique_ptr<net::HttpCall> call_;
  std::string token_;
  bool sent_again_ = false;
  net::Instant sent_at_;
  net::Duration first_byte_{};
  int status_ = 0;
  net::Headers headers_;
  std::string error_body_;
};

class ApiClient::Collector final : public ApiCall, private ApiHandler {
 public:
  Collector(net::Loop& loop, std::size_t body_bytes_max,
            std::function<void(net::Result<ApiAnswer>)> done)
      : loop_(loop), body_bytes_max_(body_bytes_max), done_(std::move(done)) {
    answer_.asked_at = loop.now();
  }

  void start(ApiClient& client, ApiRequest request) {
    context_ = std::string(request.verb) + " " + std::string(request.resource);
    call_ = client.stream(std::move(request), *this);
  }

 private:
  void on_start(std::optional<net::WallTime> date) override {
    answer_.date = date;
    answer_.answered_at = loop_.now();
  }

  void on_body(std::string_view chunk) override {
    if (chunk.size() > body_bytes_max_ - answer_.body.size()) {
      finish(net::Error{
          net::ErrorCode::kInvalid,
          context_ + ": the answer is longer than " + std::to_string(body_bytes_max_) + " bytes",
          std::nullopt});
      return;
    }
    answer_.body.append(chunk);
  }

  void on_end(const net::Status& outcome) override {
    if (outcome.ok()) {
      finish(std::move(answer_));
    } else {
      finish(outcome.error());
    }
  }

  // Last in every callback: `done` may destroy this.
  void finish(net::Result<ApiAnswer> result) {
    const auto done = std::move(done_);
    call_.reset();
    done(std::move(result));
  }

  net::Loop& loop_;
  std::size_t body_bytes_max_;
  std::function<void(net::Result<ApiAnswer>)> done_;
  std::string context_;
  ApiAnswer answer_;
  std::unique_ptr<ApiCall> call_;
};

ApiClient::ApiClient(net::Loop& loop, net::HttpClient& http, Cluster cluster)
    : loop_(loop), http_(http), cluster_(std::move(cluster)), token_(loop, cluster_.token_file) {}

std::unique_ptr<ApiCall> ApiClient::stream(ApiRequest request, ApiHandler& handler) {
  auto exchange = std::make_unique<Exchange>(*this, std::move(request), handler);
  exchange->send();
  return exchange;
}

std::unique_ptr<ApiCall> ApiClient::fetch(ApiRequest request, std::size_t body_bytes_max,
                                          std::function<void(net::Result<ApiAnswer>)> done) {
  auto collector = std::make_unique<Collector>(loop_, body_bytes_max, std::move(done));
  collector->start(*this, std::move(request));
  return collector;
}

void ApiClient::on_report(std::function<void(const RequestReport&)> listener) {
  report_ = std::move(listener);
}

}  // namespace lastcall::k8s
