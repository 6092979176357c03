#include "net/curl_client.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <system_error>
#include <unordered_set>
#include <utility>
#include <vector>

#include <curl/curl.h>
#include <event2/event.h>

namespace lastcall::net {
namespace {

constexpr long kIdleConnectionsMax = 4;
constexpr std::chrono::seconds kCaAgeMax{60};

struct EasyFree {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct ListFree {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
struct UrlFree {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};
using EasyPtr = std::unique_ptr<CURL, EasyFree>;
using ListPtr = std::unique_ptr<curl_slist, ListFree>;
using UrlPtr = std::unique_ptr<CURLU, UrlFree>;

Error retry(std::string message) { return {ErrorCode::kRetry, std::move(message), {}}; }
Error invalid(std::string message) { return {ErrorCode::kInvalid, std::move(message), {}}; }
Error fatal(std::string message) { return {ErrorCode::kFatal, std::move(message), {}}; }

std::string in_ms(std::chrono::milliseconds duration) {
  return std::to_string(duration.count()) + " ms";
}

std::string url_part(const UrlPtr& url, CURLUPart part) {
  char* text = nullptr;
  if (curl_url_get(url.get(), part, &text, CURLU_DEFAULT_PORT) != CURLUE_OK) return {};
  std::string result(text);
  curl_free(text);
  return result;
}

// "host:port", the name of the peer in every message.
Result<std::string> peer_of(const std::string& url_text) {
  const UrlPtr url(curl_url());
  const CURLUcode parsed = curl_url_set(url.get(), CURLUPART_URL, url_text.c_str(), 0);
  // Whatever follows a question mark may be a secret.
  const Error unusable = fatal(url_text.substr(0, url_text.find('?')) + ": not a URL to use");
  if (parsed != CURLUE_OK) return unusable;
  const std::string scheme = url_part(url, CURLUPART_SCHEME);
  if (scheme != "http" && scheme != "https") return unusable;
  return url_part(url, CURLUPART_HOST).append(":").append(url_part(url, CURLUPART_PORT));
}

bool has_line_break(std::string_view text) {
  return text.find_first_of(std::string_view("\r\n\0", 3)) != std::string_view::npos;
}

bool can_be_sent(const HttpRequest& request) {
  const auto& fields = request.headers.fields();
  return !has_line_break(request.method) &&
         std::none_of(fields.begin(), fields.end(), [](const auto& field) {
           return has_line_break(field.first) || has_line_break(field.second);
         });
}

ListPtr header_lines(const HttpRequest& request) {
  curl_slist* lines = nullptr;
  const auto add = [&lines](const std::string& line) {
    lines = curl_slist_append(lines, line.c_str());
  };
  for (const auto& [name, value] : request.headers.fields()) {
    add(std::string(name).append(value.empty() ? ";" : ": ").append(value));
  }
  // curl would announce a form, and hold large bodies back until the server says to go on.
  if (request.headers.find("Content-Type") == nullptr) add("Content-Type:");
  add("Expect:");
  return ListPtr(lines);
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kWhite = " \t\r\n";
  const auto first = text.find_first_not_of(kWhite);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kWhite) - first + 1);
}

// What errno says, as part of a sentence: "connection refused".
std::string os_message(int error) {
  std::string text = std::generic_category().message(error);
  text.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(text.front())));
  return text;
}

template <class T>
T info(CURL* easy, CURLINFO what) {
  T value{};
  curl_easy_getinfo(easy, what, &value);
  return value;
}

}  // namespace

class CurlClient::Impl : public std::enable_shared_from_this<CurlClient::Impl> {
 public:
  class Transfer;
  class Call;

  explicit Impl(EventLoop& loop);
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  [[nodiscard]] EventLoop& loop() { return loop_; }

  void add(std::shared_ptr<Transfer> transfer);
  // Takes the transfer from curl: now, or after the callback of curl's that is under way.
  void drop(const std::shared_ptr<Transfer>& transfer);
  void finish(const std::shared_ptr<Transfer>& transfer, const Status& outcome);

 private:
  static int on_socket(CURL* easy, curl_socket_t socket, int what, void* self, void* watch);
  static int on_timer(CURLM* multi, long timeout_ms, void* self);
  void watch_socket(curl_socket_t socket, int what, event* watch);
  void begin();
  void act(curl_socket_t socket, int events);
  void release(const std::shared_ptr<Transfer>& transfer);
  void reap();

  EventLoop& loop_;
  CURLM* multi_;
  std::unique_ptr<Timer> curl_timer_;
  std::unique_ptr<Timer> begin_timer_;
  std::vector<std::shared_ptr<Transfer>> waiting_;
  std::unordered_set<std::shared_ptr<Transfer>> running_;
  std::vector<std::shared_ptr<Transfer>> dropped_;
  bool inside_curl_ = false;
};

// One request from start() to its end or its cancellation. `Impl` holds it while curl works on
// it, the HttpCall as long as the caller wants.
class CurlClient::Impl::Transfer : public std::enable_shared_from_this<Transfer> {
 public:
  Transfer(Impl& client, HttpRequest request, HttpHandler& handler);
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  // Makes the easy handle; an error when the request cannot be sent at all.
  Status prepare();
  void cancel();
  [[nodiscard]] bool cancelled() const { return handler_ == nullptr; }
  [[nodiscard]] CURL* easy() const { return easy_.get(); }
  void close() { easy_.reset(); }

  // What the end of curl's work means for the caller.
  [[nodiscard]] Status outcome(CURLcode result) const;
  // The last callback.
  void end(const Status& outcome);

 private:
  void configure();
  void configure_method();
  void on_header_line(std::string_view line);
  void on_head_complete();
  void on_chunk(std::string_view chunk);
  void on_stall();
  void watch(std::chrono::milliseconds limit);
  [[nodiscard]] Error error_of(CURLcode result) const;
  [[nodiscard]] std::string connect_failure() const;
  // Whether curl should go on.
  [[nodiscard]] bool wanted() const { return handler_ != nullptr && !refused_; }

  Impl& client_;
  HttpRequest request_;
  HttpHandler* handler_;
  std::string peer_;
  EasyPtr easy_;
  ListPtr header_lines_;
  std::array<char, CURL_ERROR_SIZE> curl_text_{};
  std::unique_ptr<Timer> stall_;
  HttpResponseHead head_;
  bool head_complete_ = false;
  std::size_t head_bytes_ = 0;
  // Why we broke the transfer off ourselves.
  std::optional<Error> refused_;
};

CurlClient::Impl::Transfer::Transfer(Impl& client, HttpRequest request, HttpHandler& handler)
    : client_(client), request_(std::move(request)), handler_(&handler) {
  stall_ = client_.loop().make_timer([this] { on_stall(); });
  watch(request_.limits.first_byte);
}

Status CurlClient::Impl::Transfer::prepare() {
  auto peer = peer_of(request_.url);
  if (!peer.ok()) return peer.error();
  peer_ = std::move(peer).value();
  if (!can_be_sent(request_)) return fatal(peer_ + ": a line break in the request's head");
  easy_.reset(curl_easy_init());
  if (!easy_) return fatal("curl gives no handle");
  configure();
  configure_method();
  return Done{};
}

void CurlClient::Impl::Transfer::configure() {
  CURL* const easy = easy_.get();
  header_lines_ = header_lines(request_);
  curl_easy_setopt(easy, CURLOPT_PRIVATE, this);
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, curl_text_.data());
  curl_easy_setopt(easy, CURLOPT_URL, request_.url.c_str());
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, header_lines_.get());
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(easy, CURLOPT_PROXY, "");
  curl_easy_setopt(easy, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  // Else giving up on a name lookup waits for the thread that asks, and the loop with it.
  curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
  curl_easy_setopt(easy, CURLOPT_TCP_NODELAY, 1L);
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                   static_cast<long>(request_.limits.connect.count()));
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(request_.limits.total.count()));
  curl_easy_setopt(easy, CURLOPT_CA_CACHE_TIMEOUT, static_cast<long>(kCaAgeMax.count()));
  if (!request_.ca_file.empty()) {
    curl_easy_setopt(easy, CURLOPT_CAINFO, request_.ca_file.c_str());
    curl_easy_setopt(easy, CURLOPT_CAPATH, nullptr);
  }

  // Answering less than was offered makes curl end the transfer.
  using Sink = std::size_t (*)(char*, std::size_t, std::size_t, void*);
  const Sink on_header = [](char* data, std::size_t, std::size_t size, void* self) {
    const auto transfer = static_cast<Transfer*>(self)->shared_from_this();
    if (transfer->wanted()) transfer->on_header_line({data, size});
    return transfer->wanted() ? size : 0;
  };
  const Sink on_body = [](char* data, std::size_t, std::size_t size, void* self) {
    const auto transfer = static_cast<Transfer*>(self)->shared_from_this();
    if (transfer->wanted()) transfer->on_chunk({data, size});
    return transfer->wanted() ? size : 0;
  };
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, this);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, this);
}

void CurlClient::Impl::Transfer::configure_method() {
  CURL* const easy = easy_.get();
  if (request_.method == "HEAD") {
    curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
    return;
  }
  if (request_.method != "GET" || !request_.body.empty()) {
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(request_.body.size()));
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request_.body.c_str());
  }
  curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request_.method.c_str());
}

void CurlClient::Impl::Transfer::cancel() {
  if (cancelled()) return;
  handler_ = nullptr;
  stall_->disarm();
  client_.drop(shared_from_this());
}

void CurlClient::Impl::Transfer::on_header_line(std::string_view line) {
  head_bytes_ += line.size();
  if (head_bytes_ > request_.limits.header_bytes_max) {
    refused_ = invalid(peer_ + ": the head of the answer is over " +
                       std::to_string(request_.limits.header_bytes_max) + " bytes");
    return;
  }
  if (head_complete_) return;  // trailers
  if (trimmed(line).empty()) return on_head_complete();
  const auto colon = line.find(':');
  if (line.starts_with("HTTP/") || colon == std::string_view::npos) return;
  head_.headers.add(std::string(trimmed(line.substr(0, colon))),
                    std::string(trimmed(line.substr(colon + 1))));
}

void CurlClient::Impl::Transfer::on_head_complete() {
  head_.status = static_cast<int>(info<long>(easy_.get(), CURLINFO_RESPONSE_CODE));
  if (head_.status < 200) {
    head_ = {};
    return;
  }
  head_complete_ = true;
  watch(request_.limits.idle);
  handler_->on_head(head_);
}

void CurlClient::Impl::Transfer::on_chunk(std::string_view chunk) {
  if (chunk.empty()) return;
  watch(request_.limits.idle);
  handler_->on_body(chunk);
}

void CurlClient::Impl::Transfer::watch(std::chrono::milliseconds limit) {
  if (limit == std::chrono::milliseconds::zero()) return stall_->disarm();
  stall_->arm(client_.loop().now() + limit);
}

void CurlClient::Impl::Transfer::on_stall() {
  client_.finish(shared_from_this(),
                 head_complete_
                     ? retry(peer_ + ": nothing received for " + in_ms(request_.limits.idle))
                     : retry(peer_ + ": no answer within " + in_ms(request_.limits.first_byte)));
}

Status CurlClient::Impl::Transfer::outcome(CURLcode result) const {
  if (refused_) return *refused_;
  if (result != CURLE_OK) return error_of(result);
  // curl takes a head that ends in the middle for a whole one.
  if (!head_complete_) return retry(peer_ + ": answer cut short");
  return Done{};
}

std::string CurlClient::Impl::Transfer::connect_failure() const {
  const auto error = static_cast<int>(info<long>(easy_.get(), CURLINFO_OS_ERRNO));
  return error == 0 ? "cannot connect" : os_message(error);
}

Error CurlClient::Impl::Transfer::error_of(CURLcode result) const {
  const bool connected = info<curl_off_t>(easy_.get(), CURLINFO_PRETRANSFER_TIME_T) > 0;
  const std::string text =
      curl_text_.front() == '\0' ? curl_easy_strerror(result) : curl_text_.data();
  switch (result) {
    case CURLE_COULDNT_RESOLVE_HOST:
      return retry(peer_ + ": name not resolved");
    case CURLE_COULDNT_CONNECT:
      return retry(peer_ + ": " + connect_failure());
    case CURLE_OPERATION_TIMEDOUT:
      return retry(peer_ + (connected ? ": not done within " + in_ms(request_.limits.total)
                                      : ": not connected in time"));
    case CURLE_PEER_FAILED_VERIFICATION:
      return retry(peer_ + ": certificate not trusted: " + text);
    case CURLE_GOT_NOTHING:
      return retry(peer_ + ": closed without an answer");
    case CURLE_PARTIAL_FILE:
      return retry(peer_ + ": answer cut short");
    case CURLE_SSL_CACERT_BADFILE:
      return fatal(peer_ + ": CA file cannot be used: " + request_.ca_file);
    case CURLE_UNSUPPORTED_PROTOCOL:  // HTTP/0.9
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_OUT_OF_MEMORY:  // a header line beyond curl's own bound
      return invalid(peer_ + ": not an HTTP answer: " + text);
    default:
      return retry(peer_ + ": " + text);
  }
}

void CurlClient::Impl::Transfer::end(const Status& outcome) {
  stall_->disarm();
  if (HttpHandler* const handler = std::exchange(handler_, nullptr)) handler->on_end(outcome);
}

class CurlClient::Impl::Call final : public HttpCall {
 public:
  explicit Call(std::shared_ptr<Transfer> transfer) : transfer_(std::move(transfer)) {}
  ~Call() override { transfer_->cancel(); }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

 private:
  std::shared_ptr<Transfer> transfer_;
};

namespace {

CURLM* make_multi() {
  static const CURLcode initialized = curl_global_init(CURL_GLOBAL_DEFAULT);
  CURLM* const multi = initialized == CURLE_OK ? curl_multi_init() : nullptr;
  if (multi == nullptr) {
    (void)std::fputs("cannot initialize curl\n", stderr);
    std::abort();
  }
  return multi;
}

}  // namespace

CurlClient::Impl::Impl(EventLoop& loop) : loop_(loop), multi_(make_multi()) {
  curl_timer_ = loop_.make_timer([this] { act(CURL_SOCKET_TIMEOUT, 0); });
  begin_timer_ = loop_.make_timer([this] { begin(); });
  curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &Impl::on_socket);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
  curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &Impl::on_timer);
  curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
  curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, kIdleConnectionsMax);
  curl_multi_setopt(multi_, CURLMOPT_PIPELINING, static_cast<long>(CURLPIPE_NOTHING));
}

CurlClient::Impl::~Impl() {
  for (const auto& transfer : running_) {
    curl_multi_remove_handle(multi_, transfer->easy());
    transfer->close();
  }
  curl_multi_cleanup(multi_);
}

void CurlClient::Impl::add(std::shared_ptr<Transfer> transfer) {
  waiting_.push_back(std::move(transfer));
  begin_timer_->arm(loop_.now());
}

void CurlClient::Impl::begin() {
  const auto self = shared_from_this();
  for (const auto& transfer : std::exchange(waiting_, {})) {
    if (transfer->cancelled()) continue;
    const Status prepared = transfer->prepare();
    if (!prepared.ok()) {
      transfer->end(prepared);
      continue;
    }
    running_.insert(transfer);
    curl_multi_add_handle(multi_, transfer->easy());
  }
}

void CurlClient::Impl::drop(const std::shared_ptr<Transfer>& transfer) {
  if (inside_curl_) {
    dropped_.push_back(transfer);
  } else {
    release(transfer);
  }
}

void CurlClient::Impl::release(const std::shared_ptr<Transfer>& transfer) {
  if (running_.erase(transfer) == 0) return;
  curl_multi_remove_handle(multi_, transfer->easy());
  transfer->close();
}

void CurlClient::Impl::finish(const std::shared_ptr<Transfer>& transfer, const Status& outcome) {
  release(transfer);
  transfer->end(outcome);
}

void CurlClient::Impl::act(curl_socket_t socket, int events) {
  const auto self = shared_from_this();
  int running = 0;
  inside_curl_ = true;
  curl_multi_socket_action(multi_, socket, events, &running);
  inside_curl_ = false;
  reap();
}

void CurlClient::Impl::reap() {
  for (const auto& transfer : std::exchange(dropped_, {})) release(transfer);
  int left = 0;
  while (const CURLMsg* const message = curl_multi_info_read(multi_, &left)) {
    const CURLcode result = message->data.result;
    const auto transfer =
        static_cast<Transfer*>(info<void*>(message->easy_handle, CURLINFO_PRIVATE))
            ->shared_from_this();
    finish(transfer, transfer->outcome(result));
  }
}

int CurlClient::Impl::on_timer(CURLM* /*multi*/, long timeout_ms, void* self) {
  auto& client = *static_cast<Impl*>(self);
  if (timeout_ms < 0) {
    client.curl_timer_->disarm();
  } else {
    client.curl_timer_->arm(client.loop_.now() + std::chrono::milliseconds(timeout_ms));
  }
  return 0;
}

int CurlClient::Impl::on_socket(CURL* /*easy*/, curl_socket_t socket, int what, void* self,
                                void* watch) {
  static_cast<Impl*>(self)->watch_socket(socket, what, static_cast<event*>(watch));
  return 0;
}

void CurlClient::Impl::watch_socket(curl_socket_t socket, int what, event* watch) {
  if (watch != nullptr) event_free(watch);
  event* next = nullptr;
  if (what != CURL_POLL_REMOVE) {
    const int interest = ((what & CURL_POLL_IN) != 0 ? EV_READ : 0) |
                         ((what & CURL_POLL_OUT) != 0 ? EV_WRITE : 0) | EV_PERSIST;
    next = event_new(
        loop_.base(), socket, static_cast<short>(interest),
        [](evutil_socket_t ready, short happened, void* self) {
          static_cast<Impl*>(self)->act(ready,
                                        ((happened & EV_READ) != 0 ? CURL_CSELECT_IN : 0) |
                                            ((happened & EV_WRITE) != 0 ? CURL_CSELECT_OUT : 0));
        },
        this);
    event_add(next, nullptr);
  }
  curl_multi_assign(multi_, socket, next);
}

CurlClient::CurlClient(EventLoop& loop) : impl_(std::make_shared<Impl>(loop)) {}
CurlClient::~CurlClient() = default;

std::unique_ptr<HttpCall> CurlClient::start(HttpRequest request, HttpHandler& handler) {
  auto transfer = std::make_shared<Impl::Transfer>(*impl_, std::move(request), handler);
  impl_->add(transfer);
  return std::make_unique<Impl::Call>(std::move(transfer));
}

}  // namespace lastcall::net
