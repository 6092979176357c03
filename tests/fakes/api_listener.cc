#include "tests/fakes/api_listener.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include <arpa/inet.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/http_struct.h>
#include <event2/keyvalq_struct.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace lastcall::fakes {
namespace {

struct BufferFree {
  void operator()(evbuffer* buffer) const { evbuffer_free(buffer); }
};
using BufferPtr = std::unique_ptr<evbuffer, BufferFree>;

BufferPtr buffer_of(std::string_view bytes) {
  BufferPtr buffer(evbuffer_new());
  evbuffer_add(buffer.get(), bytes.data(), bytes.size());
  return buffer;
}

std::string method_of(const evhttp_request* request) {
  switch (evhttp_request_get_command(request)) {
    case EVHTTP_REQ_GET:
      return "GET";
    case EVHTTP_REQ_POST:
      return "POST";
    case EVHTTP_REQ_DELETE:
      return "DELETE";
    default:
      return "OPTIONS";
  }
}

ApiCall call_of(evhttp_request* request) {
  ApiCall call;
  call.method = method_of(request);
  call.target = evhttp_request_get_uri(request);
  for (const auto* field = evhttp_request_get_input_headers(request)->tqh_first; field != nullptr;
       field = field->next.tqe_next) {
    call.headers.add(field->key, field->value);
  }
  evbuffer* const body = evhttp_request_get_input_buffer(request);
  call.body.resize(evbuffer_get_length(body));
  evbuffer_copyout(body, call.body.data(), call.body.size());
  return call;
}

// As Go's servers do: without it the end of a watch event waits for the peer's delayed ACK.
void send_at_once(evhttp_request* request) {
  bufferevent* const stream =
      evhttp_connection_get_bufferevent(evhttp_request_get_connection(request));
  const int on = 1;
  setsockopt(bufferevent_getfd(stream), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

std::string url_of(evutil_socket_t fd) {
  sockaddr_in address{};
  socklen_t size = sizeof(address);
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  return "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
}

}  // namespace

// Collects until the server has returned from serve(): what has ended by then goes out whole,
// anything else as a stream.
class ApiListener::Answer final : public Exchange {
 public:
  Answer(ApiListener& listener, evhttp_request* request) : listener_(listener), request_(request) {}

  void head(const net::HttpResponseHead& head) override {
    status_ = head.status;
    for (const auto& [name, value] : head.headers.fields()) {
      evhttp_add_header(evhttp_request_get_output_headers(request_), name.c_str(), value.c_str());
    }
  }

  void chunk(std::string_view bytes) override {
    if (streaming_) {
      evhttp_send_reply_chunk(request_, buffer_of(bytes).get());
    } else {
      collected_.append(bytes);
    }
  }

  void end() override {
    if (streaming_) {
      evhttp_connection_set_closecb(connection(), nullptr, nullptr);
      evhttp_send_reply_end(request_);
      listener_.drop(*this);
    } else {
      ended_ = true;
    }
  }

  void cut() override {
    const linger reset{.l_onoff = 1, .l_linger = 0};
    setsockopt(bufferevent_getfd(evhttp_connection_get_bufferevent(connection())), SOL_SOCKET,
               SO_LINGER, &reset, sizeof(reset));
    evhttp_connection_set_closecb(connection(), nullptr, nullptr);
    evhttp_connection_free(connection());
    listener_.drop(*this);
  }

  // After serve(). Returns whether the answer goes on.
  bool send() {
    if (ended_) {
      evhttp_send_reply(request_, status_, nullptr, buffer_of(collected_).get());
      return false;
    }
    start_streaming();
    return true;
  }

 private:
  [[nodiscard]] evhttp_connection* connection() const {
    return evhttp_request_get_connection(request_);
  }

  void start_streaming() {
    streaming_ = true;
    evhttp_connection_set_closecb(
        connection(),
        [](evhttp_connection*, void* self) { static_cast<Answer*>(self)->on_close(); }, this);
    evhttp_send_reply_start(request_, status_, nullptr);
    if (!collected_.empty()) evhttp_send_reply_chunk(request_, buffer_of(collected_).get());
    // evhttp stops reading during an answer, and would not see the peer go.
    bufferevent* const bev = evhttp_connection_get_bufferevent(connection());
    bufferevent_set_timeouts(bev, nullptr, nullptr);
    bufferevent_enable(bev, EV_READ);
  }

  void on_close() {
    // evhttp frees the requests that its connection still has, and leaves others to us.
    if (connection() == nullptr) evhttp_request_free(request_);
    listener_.server_.forget(*this);
    listener_.drop(*this);
  }

  ApiListener& listener_;
  evhttp_request* request_;
  int status_ = 0;
  std::string collected_;
  bool ended_ = false;
  bool streaming_ = false;
};

void ApiListener::HttpFree::operator()(evhttp* http) const { evhttp_free(http); }

ApiListener::ApiListener(net::EventLoop& loop, FakeApiServer& server)
    : server_(server), http_(evhttp_new(loop.base())) {
  evhttp_bound_socket* const socket = evhttp_bind_socket_with_handle(http_.get(), "127.0.0.1", 0);
  if (socket == nullptr) {
    std::fputs("cannot listen on 127.0.0.1\n", stderr);
    std::abort();
  }
  url_ = url_of(evhttp_bound_socket_get_fd(socket));
  evhttp_set_default_content_type(http_.get(), nullptr);
  evhttp_set_gencb(
      http_.get(),
      [](evhttp_request* request, void* self) {
        static_cast<ApiListener*>(self)->receive(request);
      },
      this);
}

// Closing a connection drops its answer, and with it the watch.
ApiListener::~ApiListener() { http_.reset(); }

void ApiListener::receive(evhttp_request* request) {
  send_at_once(request);
  auto& answer = *answers_.emplace_back(std::make_unique<Answer>(*this, request));
  server_.serve(call_of(request), answer);
  if (!answer.send()) drop(answer);
}

void ApiListener::drop(const Answer& answer) {
  answers_.remove_if([&](const auto& candidate) { return candidate.get() == &answer; });
}

}  // namespace lastcall::fakes
