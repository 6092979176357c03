// A readiness probe.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "net/http_client.h"
#include "net/loop.h"

namespace lastcall::demo {

// GETs a URL again and again until it is answered 200, then calls `on_ready` once.
class Probe final : private net::HttpHandler {
 public:
  // `loop` and `http` must outlive it. Starts at once.
  Probe(net::Loop& loop, net::HttpClient& http, std::string url, std::function<void()> on_ready);

 private:
  void attempt();
  void on_head(const net::HttpResponseHead& head) override { status_ = head.status; }
  void on_body(std::string_view) override {}
  void on_end(const net::Status& outcome) override;

  net::Loop& loop_;
  net::HttpClient& http_;
  std::string url_;
  std::function<void()> on_ready_;
  int status_ = 0;
  std::unique_ptr<net::HttpCall> call_;
  std::unique_ptr<net::Timer> again_;
};

}  // namespace lastcall::demo
