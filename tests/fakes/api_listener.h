// A FakeApiServer on a real loopback socket, for the demo, benchmarks and integration tests.
#pragma once

#include <list>
#include <memory>
#include <string>

#include "net/event_loop.h"
#include "tests/fakes/fake_api_server.h"

struct evhttp;
struct evhttp_request;

namespace lastcall::fakes {

// Plain HTTP/1.1 with keep-alive; answers that end at once have a Content-Length, watches are
// chunked.
class ApiListener {
 public:
  // Listens on 127.0.0.1 and a free port. Both must outlive the listener. Aborts when it
  // cannot listen.
  ApiListener(net::EventLoop& loop, FakeApiServer& server);
  ~ApiListener();
  ApiListener(const ApiListener&) = delete;
  ApiListener& operator=(const ApiListener&) = delete;

  // "http://127.0.0.1:34567", as kubernetes.server takes it.
  [[nodiscard]] const std::string& url() const { return url_; }

 private:
  class Answer;
  struct HttpFree {
    void operator()(evhttp* http) const;
  };

  void receive(evhttp_request* request);
  void drop(const Answer& answer);

  FakeApiServer& server_;
  std::string url_;
  std::list<std::unique_ptr<Answer>> answers_;  // that go on
  std::unique_ptr<evhttp, HttpFree> http_;
};

}  // namespace lastcall::fakes
