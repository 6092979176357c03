// An HttpClient whose server is the test: it sees each request and plays the answer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/http_client.h"
#include "tests/fakes/fake_loop.h"

namespace lastcall::fakes {

// One request and what became of it. Playing to one that is over does nothing, as on a
// connection that the client has closed.
class ScriptedExchange {
 public:
  ScriptedExchange(FakeLoop& loop, net::HttpRequest sent, net::HttpHandler& handler)
      : request(std::move(sent)), loop_(loop), handler_(&handler), started_at_(loop.now()) {
    timeout_ = loop.make_timer([this] { time_out(); });
    heard_at_ = started_at_;
    watch_the_clock();
  }

  const net::HttpRequest request;

  // Headers beside Date and Content-Type come in `headers`.
  void head(int status, net::Headers headers = {}, std::string content_type = "application/json") {
    if (!open()) return;
    head_sent_ = true;
    heard();
    if (!content_type.empty()) headers.add("Content-Type", std::move(content_type));
    headers.add("Date", date);
    handler_->on_head({.status = status, .headers = std::move(headers)});
  }
  void body(std::string_view chunk) {
    if (!open()) return;
    heard();
    // A copy of its own, so that a sanitizer sees whoever keeps it.
    const std::vector<char> bytes(chunk.begin(), chunk.end());
    handler_->on_body({bytes.data(), bytes.size()});
  }
  void end() { close(net::Done{}); }
  void fail(net::ErrorCode code, std::string message) {
    close(net::Error{code, std::move(message), std::nullopt});
  }
  // Head, body and end.
  void answer(int status, std::string_view text, net::Headers headers = {},
              std::string content_type = "application/json") {
    head(status, std::move(headers), std::move(content_type));
    if (!text.empty()) body(text);
    end();
  }

  // Neither ended nor cancelled.
  [[nodiscard]] bool open() const { return handler_ != nullptr; }
  [[nodiscard]] bool cancelled() const { return cancelled_; }
  [[nodiscard]] std::string header(std::string_view name) const {
    const std::string* const value = request.headers.find(name);
    return value == nullptr ? "" : *value;
  }
  // The URL without scheme and authority.
  [[nodiscard]] std::string path() const {
    const std::size_t host = request.url.find("//") + 2;
    return request.url.substr(std::min(request.url.find('/', host), request.url.size()));
  }

  std::string date = "Fri, 02 Jan 2026 03:04:05 GMT";

 private:
  friend class ScriptedHttp;

  void cancel() {
    if (!open()) return;
    cancelled_ = true;
    handler_ = nullptr;
    timeout_->disarm();
  }
  void close(const net::Status& outcome) {
    if (!open()) return;
    timeout_->disarm();
    std::exchange(handler_, nullptr)->on_end(outcome);
  }
  void heard() {
    heard_at_ = loop_.now();
    watch_the_clock();
  }
  void watch_the_clock() {
    const net::HttpLimits& limits = request.limits;
    std::optional<net::Instant> deadline;
    const auto limit = [&](net::Instant since, std::chrono::milliseconds time) {
      if (time.count() == 0) return;
      deadline = deadline ? std::min(*deadline, since + time) : since + time;
    };
    limit(started_at_, limits.total);
    if (head_sent_) {
      limit(heard_at_, limits.idle);
    } else {
      limit(started_at_, limits.first_byte);
    }
    if (deadline) {
      timeout_->arm(*deadline);
    } else {
      timeout_->disarm();
    }
  }
  void time_out() { fail(net::ErrorCode::kRetry, "timed out"); }

  FakeLoop& loop_;
  net::HttpHandler* handler_;
  net::Instant started_at_;
  net::Instant heard_at_;
  bool head_sent_ = false;
  bool cancelled_ = false;
  std::unique_ptr<net::Timer> timeout_;
};

class ScriptedHttp final : public net::HttpClient {
 public:
  explicit ScriptedHttp(FakeLoop& loop) : loop_(loop) {}

  [[nodiscard]] std::unique_ptr<net::HttpCall> start(net::HttpRequest request,
                                                     net::HttpHandler& handler) override {
    exchanges_.push_back(std::make_shared<ScriptedExchange>(loop_, std::move(request), handler));
    return std::make_unique<Call>(exchanges_.back());
  }

  // Requests so far, and each of them; stays valid while this lives.
  [[nodiscard]] std::size_t count() const { return exchanges_.size(); }
  [[nodiscard]] ScriptedExchange& at(std::size_t index) { return *exchanges_.at(index); }
  [[nodiscard]] ScriptedExchange& last() { return *exchanges_.back(); }

 private:
  class Call final : public net::HttpCall {
   public:
    explicit Call(std::shared_ptr<ScriptedExchange> exchange) : exchange_(std::move(exchange)) {}
    ~Call() override { exchange_->cancel(); }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    std::shared_ptr<ScriptedExchange> exchange_;
  };

  FakeLoop& loop_;
  std::vector<std::shared_ptr<ScriptedExchange>> exchanges_;
};

}  // namespace lastcall::fakes
