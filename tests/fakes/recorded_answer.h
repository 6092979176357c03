// An Exchange that keeps what the server wrote, for tests to look at.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "tests/fakes/fake_api_server.h"

namespace lastcall::fakes {

class RecordedAnswer final : public Exchange {
 public:
  void head(const net::HttpResponseHead& head) override { head_ = head; }
  void chunk(std::string_view bytes) override { body_.append(bytes); }
  void end() override { ended_ = true; }
  void cut() override { was_cut_ = true; }

  [[nodiscard]] int status() const { return head_.status; }
  [[nodiscard]] std::string header(std::string_view name) const {
    const auto* value = head_.headers.find(name);
    return value == nullptr ? "" : *value;
  }
  [[nodiscard]] const std::string& body() const { return body_; }
  [[nodiscard]] nlohmann::json json() const { return nlohmann::json::parse(body_); }
  // Takes the watch events that have come since the last call.
  [[nodiscard]] std::vector<nlohmann::json> take_lines();
  [[nodiscard]] bool ended() const { return ended_; }
  [[nodiscard]] bool was_cut() const { return was_cut_; }

 private:
  net::HttpResponseHead head_;
  std::string body_;
  bool ended_ = false;
  bool was_cut_ = false;
};

inline std::vector<nlohmann::json> RecordedAnswer::take_lines() {
  std::vector<nlohmann::json> lines;
  std::size_t start = 0;
  for (auto end = body_.find('\n'); end != std::string::npos; end = body_.find('\n', start)) {
    lines.push_back(nlohmann::json::parse(body_.substr(start, end - start)));
    start = end + 1;
  }
  body_.erase(0, start);
  return lines;
}

}  // namespace lastcall::fakes
