#include "net/evhttp_server.h"

#include <cstdlib>
#include <unordered_map>
#include <utility>
#include <vector>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>

#include "net/listen_socket.h"

namespace lastcall::net {
namespace {

// How long accepting pauses when the process or the host is out of descriptors or memory.
constexpr std::chrono::milliseconds kAcceptPause{100};
// What a connection may hold beside a head and a body: framing of chunks, pipelined requests.
constexpr std::size_t kReadSlackBytes = 4096;

struct EventFree {
  void operator()(event* e) const { event_free(e); }
};
struct HttpFree {
  void operator()(evhttp* http) const { evhttp_free(http); }
};
struct BufferFree {
  void operator()(evbuffer* buffer) const { evbuffer_free(buffer); }
};
struct Decref {
  void operator()(bufferevent* bev) const { bufferevent_decref(bev); }
};
using BufferPtr = std::unique_ptr<evbuffer, BufferFree>;
// Keeps the memory of a bufferevent that evhttp owns.
using BevRef = std::unique_ptr<bufferevent, Decref>;

timeval to_timeval(std::chrono::milliseconds duration) {
  const auto s = std::chrono::floor<std::chrono::seconds>(duration);
  return {.tv_sec = s.count(), .tv_usec = std::chrono::microseconds(duration - s).count()};
}

std::string method_of(evhttp_request* request) {
  switch (evhttp_request_get_command(request)) {
    case EVHTTP_REQ_HEAD:
      return "HEAD";
    case EVHTTP_REQ_POST:
      return "POST";
    default:
      return "GET";
  }
}

std::string decoded(const char* text) {
  if (text == nullptr) return {};
  std::size_t size = 0;
  char* const plain = evhttp_uridecode(text, 0, &size);
  if (plain == nullptr) return {};
  std::string result(plain, size);
  std::free(plain);  // NOLINT(cppcoreguidelines-no-malloc): so libevent asks
  return result;
}

std::string peer_of(evhttp_connection* connection) {
  constexpr std::string_view kMappedPrefix = "::ffff:";
  char* address = nullptr;
  ev_uint16_t port = 0;
  evhttp_connection_get_peer(connection, &address, &port);
  const std::string_view text(address);
  const bool mapped = text.starts_with(kMappedPrefix) && text.find('.') != std::string_view::npos;
  return std::string(mapped ? text.substr(kMappedPrefix.size()) : text);
}

std::string content_of(evbuffer* buffer) {
  std::string result(evbuffer_get_length(buffer), '\0');
  evbuffer_copyout(buffer, result.data(), result.size());
  return result;
}

void send(evhttp_request* request, const ServerResponse& response) {
  evkeyvalq* const headers = evhttp_request_get_output_headers(request);
  if (!response.body.empty()) {
    evhttp_add_header(headers, "Content-Type", response.content_type.c_str());
  }
  evhttp_add_header(headers, "Content-Length", std::to_string(response.body.size()).c_str());
  const BufferPtr body(evbuffer_new());
  // evhttp would send the body of an answer to HEAD.
  if (evhttp_request_get_command(request) != EVHTTP_REQ_HEAD) {
    evbuffer_add(body.get(), response.body.data(), response.body.size());
  }
  evhttp_send_reply(request, response.status, nullptr, body.get());
}

}  // namespace

class EvhttpServer::Impl {
 public:
  Impl(EventLoop& loop, ListenSocket socket, ServerLimits limits);
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void on_request(Handler handler) { handler_ = std::move(handler); }
  [[nodiscard]] const std::string& address() const { return socket_.address(); }

 private:
  // A request that waits for its answer.
  struct Parked {
    Impl* server = nullptr;
    evhttp_request* request = nullptr;  // none once answered or gone
    std::function<void()> on_gone;
  };
  class ParkedResponder;

  struct Connection {
    Impl* server = nullptr;
    evhttp_connection* evcon = nullptr;
    // Bounds how long a request may take to arrive, or its answer to leave, byte by byte.
    std::unique_ptr<Timer> deadline;
    std::shared_ptr<Parked> parked;
  };

  using Servers = std::unordered_map<void*, Impl*>;
  static Servers& servers();

  bufferevent* on_accept();
  void on_accept_failure();
  void adopt(bufferevent* bev);
  void catch_up();
  void update_accepting();
  [[nodiscard]] std::size_t connection_count() const {
    return connections_.size() + accepted_.size();
  }

  [[nodiscard]] Connection& connection_of(evhttp_request* request);
  void receive(evhttp_request* request);
  void park(Connection& connection, evhttp_request* request);
  void answer(Parked& parked, const ServerResponse& response);
  void restart_deadline(Connection& connection);
  void on_close(Connection& connection);

  EventLoop& loop_;
  const ServerLimits limits_;
  const ListenSocket socket_;
  Handler handler_;
  std::size_t parked_count_ = 0;
  bool resting_ = false;
  std::unique_ptr<Timer> rest_;
  std::vector<BevRef> accepted_;
  std::vector<std::shared_ptr<Parked>> gone_;
  std::unordered_map<evhttp_connection*, std::unique_ptr<Connection>> connections_;
  std::unique_ptr<event, EventFree> catch_up_;
  std::unique_ptr<evhttp, HttpFree> http_;
  evconnlistener* listener_ = nullptr;
};

class EvhttpServer::Impl::ParkedResponder final : public Responder {
 public:
  explicit ParkedResponder(std::shared_ptr<Parked> parked) : parked_(std::move(parked)) {}
  ~ParkedResponder() override {
    parked_->on_gone = nullptr;
    respond({.status = 503, .body = "not answered\n"});
  }
  ParkedResponder(const ParkedResponder&) = delete;
  ParkedResponder& operator=(const ParkedResponder&) = delete;

  void respond(const ServerResponse& response) override {
    if (parked_->request != nullptr) parked_->server->answer(*parked_, response);
  }
  void on_gone(std::function<void()> callback) override {
    if (parked_->request != nullptr) parked_->on_gone = std::move(callback);
  }

 private:
  std::shared_ptr<Parked> parked_;
};

EvhttpServer::Impl::Impl(EventLoop& loop, ListenSocket socket, ServerLimits limits)
    : loop_(loop), limits_(limits), socket_(std::move(socket)) {
  rest_ = loop_.make_timer([this] {
    resting_ = false;
    update_accepting();
  });
  catch_up_.reset(event_new(
      loop_.base(), -1, 0,
      [](evutil_socket_t, short, void* self) { static_cast<Impl*>(self)->catch_up(); }, this));

  http_.reset(evhttp_new(loop_.base()));
  const timeval idle = to_timeval(limits_.idle);
  evhttp_set_timeout_tv(http_.get(), &idle);
  evhttp_set_max_headers_size(http_.get(), static_cast<ev_ssize_t>(limits_.header_bytes_max));
  evhttp_set_max_body_size(http_.get(), static_cast<ev_ssize_t>(limits_.body_bytes_max));
  evhttp_set_allowed_methods(http_.get(), EVHTTP_REQ_GET | EVHTTP_REQ_HEAD | EVHTTP_REQ_POST);
  evhttp_set_default_content_type(http_.get(), nullptr);
  evhttp_set_bevcb(
      http_.get(), [](event_base*, void* self) { return static_cast<Impl*>(self)->on_accept(); },
      this);
  evhttp_set_gencb(
      http_.get(),
      [](evhttp_request* request, void* self) { static_cast<Impl*>(self)->receive(request); },
      this);

  listener_ =
      evconnlistener_new(loop_.base(), nullptr, nullptr, LEV_OPT_CLOSE_ON_EXEC, 0, socket_.fd());
  evhttp_bind_listener(http_.get(), listener_);
  servers().emplace(http_.get(), this);
  evconnlistener_set_error_cb(listener_, [](evconnlistener*, void* http) {
    const auto server = servers().find(http);
    if (server != servers().end()) server->second->on_accept_failure();
  });
}

EvhttpServer::Impl::~Impl() {
  servers().erase(http_.get());
  for (const auto& [evcon, connection] : connections_) {
    if (connection->parked) connection->parked->on_gone = nullptr;
  }
  accepted_.clear();
  http_.reset();
}

// evhttp sets itself as the argument of its listener's callbacks, that of errors included;
// this is the way back from there.
EvhttpServer::Impl::Servers& EvhttpServer::Impl::servers() {
  static Servers servers;
  return servers;
}

bufferevent* EvhttpServer::Impl::on_accept() {
  bufferevent* const bev = bufferevent_socket_new(loop_.base(), -1, 0);
  bufferevent_setwatermark(bev, EV_READ, 0,
                           limits_.header_bytes_max + limits_.body_bytes_max + kReadSlackBytes);
  bufferevent_incref(bev);
  accepted_.emplace_back(bev);
  event_active(catch_up_.get(), EV_TIMEOUT, 0);
  update_accepting();
  return bev;
}

void EvhttpServer::Impl::on_accept_failure() {
  resting_ = true;
  rest_->arm(loop_.now() + kAcceptPause);
  update_accepting();
}

void EvhttpServer::Impl::update_accepting() {
  if (resting_ || connection_count() >= limits_.connections_max) {
    evconnlistener_disable(listener_);
  } else {
    evconnlistener_enable(listener_);
  }
}

// What could not be done from inside evhttp's callbacks.
void EvhttpServer::Impl::catch_up() {
  for (const BevRef& bev : std::exchange(accepted_, {})) adopt(bev.get());
  update_accepting();
  for (const auto& parked : std::exchange(gone_, {})) {
    if (const auto on_gone = std::exchange(parked->on_gone, nullptr)) on_gone();
  }
}

// evhttp 2.1 tells of a connection only with its first request. It is the argument of the
// callbacks that evhttp gives to the connection's bufferevent, and these are taken away when the
// connection is freed.
void EvhttpServer::Impl::adopt(bufferevent* bev) {
  bufferevent_event_cb on_event = nullptr;
  void* evcon = nullptr;
  bufferevent_getcb(bev, nullptr, nullptr, &on_event, &evcon);
  if (on_event == nullptr) return;
  auto connection = std::make_unique<Connection>();
  connection->server = this;
  connection->evcon = static_cast<evhttp_connection*>(evcon);
  connection->deadline =
      loop_.make_timer([opened = connection->evcon] { evhttp_connection_free(opened); });
  evhttp_connection_set_closecb(
      connection->evcon,
      [](evhttp_connection*, void* closed) {
        auto& c = *static_cast<Connection*>(closed);
        c.server->on_close(c);
      },
      connection.get());
  restart_deadline(*connection);
  connections_.emplace(connection->evcon, std::move(connection));
}

void EvhttpServer::Impl::restart_deadline(Connection& connection) {
  connection.deadline->arm(loop_.now() + 2 * limits_.idle);
}

EvhttpServer::Impl::Connection& EvhttpServer::Impl::connection_of(evhttp_request* request) {
  const auto found = connections_.find(evhttp_request_get_connection(request));
  if (found == connections_.end()) std::abort();
  return *found->second;
}

void EvhttpServer::Impl::receive(evhttp_request* request) {
  Connection& connection = connection_of(request);
  evhttp_request_set_on_complete_cb(
      request,
      [](evhttp_request*, void* answered) {
        auto& c = *static_cast<Connection*>(answered);
        c.server->restart_deadline(c);
      },
      &connection);
  if (parked_count_ >= limits_.parked_max) {
    restart_deadline(connection);
    return send(request, {.status = 503, .body = "too many waiting requests\n"});
  }

  const evhttp_uri* const uri = evhttp_request_get_evhttp_uri(request);
  const char* const query = evhttp_uri_get_query(uri);
  const ServerRequest received{
      .method = method_of(request),
      .path = decoded(evhttp_uri_get_path(uri)),
      .query = query == nullptr ? "" : query,
      .body = content_of(evhttp_request_get_input_buffer(request)),
      .peer = socket_.is_unix() ? "" : peer_of(connection.evcon),
  };
  park(connection, request);
  auto responder = std::make_unique<ParkedResponder>(connection.parked);
  if (handler_) handler_(received, std::move(responder));
}

void EvhttpServer::Impl::park(Connection& connection, evhttp_request* request) {
  connection.parked = std::make_shared<Parked>();
  connection.parked->server = this;
  connection.parked->request = request;
  ++parked_count_;
  connection.deadline->disarm();

  // evhttp stops reading here, and would exit the process on the next byte if it read on. To see
  // the peer go we read on with a callback of our own, which keeps a pipelined request for later.
  bufferevent* const bev = evhttp_connection_get_bufferevent(connection.evcon);
  bufferevent_data_cb on_write = nullptr;
  bufferevent_event_cb on_event = nullptr;
  void* evcon = nullptr;
  bufferevent_getcb(bev, nullptr, &on_write, &on_event, &evcon);
  const bufferevent_data_cb on_early_bytes = [](bufferevent* early, void* connection_of_early) {
    std::size_t most = 0;
    bufferevent_getwatermark(early, EV_READ, nullptr, &most);
    if (evbuffer_get_length(bufferevent_get_input(early)) < most) return;
    // Reading is suspended now, so that its end would not be seen any more.
    evhttp_connection_free(static_cast<evhttp_connection*>(connection_of_early));
  };
  bufferevent_setcb(bev, on_early_bytes, on_write, on_event, evcon);
  bufferevent_set_timeouts(bev, nullptr, nullptr);
  bufferevent_enable(bev, EV_READ);
}

void EvhttpServer::Impl::answer(Parked& parked, const ServerResponse& response) {
  evhttp_request* const request = std::exchange(parked.request, nullptr);
  --parked_count_;
  Connection& connection = connection_of(request);
  const auto kept = std::exchange(connection.parked, nullptr);
  const timeval idle = to_timeval(limits_.idle);
  bufferevent_set_timeouts(evhttp_connection_get_bufferevent(connection.evcon), &idle, &idle);
  restart_deadline(connection);
  send(request, response);
}

void EvhttpServer::Impl::on_close(Connection& connection) {
  if (const auto parked = std::exchange(connection.parked, nullptr)) {
    evhttp_request* const request = std::exchange(parked->request, nullptr);
    --parked_count_;
    // evhttp frees the requests that its connection still has, and leaves others to us.
    if (evhttp_request_get_connection(request) == nullptr) evhttp_request_free(request);
    if (parked->on_gone) {
      gone_.push_back(parked);
      event_active(catch_up_.get(), EV_TIMEOUT, 0);
    }
  }
  connections_.erase(connection.evcon);
  if (http_) update_accepting();  // else this is its end, and the listener has gone
}

Result<std::unique_ptr<EvhttpServer>> EvhttpServer::listen(EventLoop& loop,
                                                           const std::string& address,
                                                           ServerLimits limits) {
  auto socket = ListenSocket::open(address);
  if (!socket.ok()) return socket.error();
  return std::unique_ptr<EvhttpServer>(
      new EvhttpServer(std::make_unique<Impl>(loop, std::move(socket).value(), limits)));
}

EvhttpServer::EvhttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
EvhttpServer::~EvhttpServer() = default;
void EvhttpServer::on_request(Handler handler) { impl_->on_request(std::move(handler)); }
const std::string& EvhttpServer::address() const { return impl_->address(); }

}  // namespace lastcall::net
