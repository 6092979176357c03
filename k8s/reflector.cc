#include "k8s/reflector.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "k8s/line_framer.h"
#include "k8s/list_path.h"
#include "k8s/watch_event.h"
#include "net/backoff.h"

namespace lastcall::k8s {
namespace {

constexpr std::chrono::milliseconds kBackoffFirst{200};
constexpr std::chrono::milliseconds kBackoffLast{5'000};
// A watch that stayed open so long was worth opening, even if nothing happened in it.
constexpr std::chrono::seconds kProvenAfter{5};
// So many watches in a row without anything to show for it, and a LIST is asked what they hide.
constexpr int kUselessWatchesMax = 3;
constexpr std::size_t kObjectBytesKept = std::size_t{512} * 1024;

constexpr int kBadRequest = 400;
constexpr int kInternalError = 500;
constexpr int kStatusEnd = 600;

std::optional<WatchVerb> verb_of(std::string_view type) {
  if (type == "ADDED") return WatchVerb::kAdded;
  if (type == "MODIFIED") return WatchVerb::kModified;
  if (type == "DELETED") return WatchVerb::kDeleted;
  return std::nullopt;
}

net::Error invalid(std::string message) {
  return {net::ErrorCode::kInvalid, std::move(message), std::nullopt};
}

net::Error error_of(const WatchEvent& event) {
  const bool is_http_error = event.status_code >= kBadRequest && event.status_code < kStatusEnd;
  const int status = is_http_error ? static_cast<int>(event.status_code) : kInternalError;
  return error_from_answer(status, {}, event.object).in("ERROR event");
}

WatchRestart reason_of(net::ErrorCode code) {
  if (code == net::ErrorCode::kRelist) return WatchRestart::kExpired;
  if (code == net::ErrorCode::kInvalid) return WatchRestart::kInvalid;
  return WatchRestart::kError;
}

}  // namespace

std::string_view to_string(WatchRestart reason) {
  switch (reason) {
    case WatchRestart::kServerClosed:
      return "server_closed";
    case WatchRestart::kExpired:
      return "expired";
    case WatchRestart::kError:
      return "error";
    case WatchRestart::kStalled:
      return "stalled";
    case WatchRestart::kInvalid:
      return "invalid";
  }
  return "unknown";
}

class Reflector::Impl final : private ApiHandler {
 public:
  Impl(ApiClient& api, ListRequest request, ReflectorSink& sink, std::string resource_version)
      : api_(api),
        request_(std::move(request)),
        sink_(sink),
        timer_(api.loop().make_timer([this] { go_on(); })),
        resource_version_(std::move(resource_version)) {
    go_on();
  }

  // Takes effect on the next turn, since the caller may be a callback of what it ends. Until
  // then whatever still comes is ignored.
  void relist() {
    relisting_ = true;
    timer_->arm(api_.loop().now());
  }

  void on_restart(std::function<void(WatchRestart)> listener) { listener_ = std::move(listener); }

 private:
  void go_on() {
    if (std::exchange(relisting_, false)) resource_version_.clear();
    lister_.reset();
    call_.reset();
    if (resource_version_.empty()) {
      list();
    } else {
      watch();
    }
  }

  void list() {
    Lister::Callbacks callbacks;
    callbacks.on_begin = [this] {
      if (!relisting_) sink_.on_list_begin();
    };
    callbacks.on_item = [this](const PaddedText& item) {
      return relisting_ ? net::Status(invalid("replaced")) : sink_.on_list_item(item);
    };
    callbacks.done = [this](net::Result<std::string> resource_version) {
      if (!relisting_) listed(std::move(resource_version));
    };
    lister_ = std::make_unique<Lister>(api_, request_, std::move(callbacks));
  }

  void listed(net::Result<std::string> resource_version) {
    lister_.reset();
    if (!resource_version) {
      wait(resource_version.error());
      go_blind(resource_version.error());
      return;
    }
    resource_version_ = std::move(resource_version).value();
    blind_ = false;
    sink_.on_list_end();
    if (!relisting_) watch();
  }

  void watch() {
    framer_.reset();
    accepted_at_.reset();
    has_events_ = false;
    ApiRequest request;
    request.path = watch_path(request_, resource_version_);
    request.verb = "watch";
    request.resource = request_.resource;
    request.limits.idle = request_.watch_idle;
    request.limits.total = {};
    call_ = api_.stream(std::move(request), *this);
  }

  void on_start(std::optional<net::WallTime> /*date*/) override {
    if (relisting_) return;
    accepted_at_ = last_byte_at_ = api_.loop().now();
    if (std::exchange(blind_, false)) sink_.on_sight();
  }

  void on_body(std::string_view chunk) override {
    if (relisting_) return;
    last_byte_at_ = api_.loop().now();
    const net::Status status =
        framer_.feed(chunk, [this](const PaddedText& line) { return on_line(line); });
    if (!status) failure_ = in_context(status.error());
    if (failure_) watch_failed(*std::exchange(failure_, std::nullopt), true);
  }

  void on_end(const net::Status& outcome) override {
    if (relisting_) return;
    if (outcome.ok()) {
      watch_closed();
    } else if (is_stalled()) {
      restart(WatchRestart::kStalled);
    } else {
      const net::ErrorCode code = outcome.error().code;
      watch_failed(outcome.error(),
                   code == net::ErrorCode::kRelist || code == net::ErrorCode::kInvalid);
    }
  }

  // False: stop, because of failure_ or a relist() from inside the sink.
  bool on_line(const PaddedText& line) {
    const net::Result<WatchEvent> event = parse_watch_event(parser_, line);
    const net::Status status = event ? apply(event.value()) : net::Status(event.error());
    if (!status) failure_ = in_context(status.error());
    return status.ok() && !relisting_;
  }

  net::Status apply(const WatchEvent& event) {
    if (event.type == "ERROR") return error_of(event);
    if (event.resource_version.empty()) return invalid("an event without a resourceVersion");
    std::string resource_version(event.resource_version);
    if (event.type != "BOOKMARK") {
      const std::optional<WatchVerb> verb = verb_of(event.type);
      if (!verb) return invalid("an event of an unknown type");
      object_.clear();
      object_.shrink(kObjectBytesKept);
      object_.append(event.object);
      if (net::Status status = sink_.on_change(*verb, object_); !status) {
        return invalid(status.error().message);
      }
    }
    resource_version_ = std::move(resource_version);
    has_events_ = true;
    return net::Done{};
  }

  void watch_closed() {
    if (is_proven()) return restart(WatchRestart::kServerClosed);
    restart(WatchRestart::kServerClosed);
    go_blind(in_context({net::ErrorCode::kRetry, "closed at once", std::nullopt}));
  }

  void watch_failed(const net::Error& error, bool list_again) {
    if (list_again) resource_version_.clear();
    restart(reason_of(error.code), error);
    go_blind(error);
  }

  void restart(WatchRestart reason, const std::optional<net::Error>& error = std::nullopt) {
    call_.reset();
    const bool told_to_wait = error && error->retry_after;
    if (is_proven()) {
      backoff_.reset();
      useless_watches_ = 0;
    } else if (!told_to_wait && ++useless_watches_ >= kUselessWatchesMax) {
      resource_version_.clear();
    }
    wait(error);
    if (listener_) listener_(reason);
  }

  // Until the next attempt: a LIST, or a WATCH from where the last one ended.
  void wait(const std::optional<net::Error>& error) {
    if (relisting_) return;
    const auto retry_after = error ? error->retry_after : std::nullopt;
    timer_->arm(api_.loop().now() + backoff_.next(api_.loop().random(), retry_after));
  }

  void go_blind(const net::Error& error) {
    blind_ = true;
    sink_.on_blind(error);
  }

  // Whether the last watch was of use, so that the next may come soon.
  [[nodiscard]] bool is_proven() const {
    return accepted_at_ && (has_events_ || api_.loop().now() - *accepted_at_ >= kProvenAfter);
  }

  [[nodiscard]] bool is_stalled() const {
    return accepted_at_ && api_.loop().now() - last_byte_at_ >= request_.watch_idle;
  }

  [[nodiscard]] net::Error in_context(const net::Error& error) const {
    return error.in("watch " + std::string(request_.resource));
  }

  ApiClient& api_;
  ListRequest request_;
  ReflectorSink& sink_;
  std::function<void(WatchRestart)> listener_;
  net::Backoff backoff_{kBackoffFirst, kBackoffLast};
  std::unique_ptr<net::Timer> timer_;
  simdjson::ondemand::parser parser_;
  LineFramer framer_;
  PaddedText object_;
  std::string resource_version_;  // empty: LIST first
  std::optional<net::Error> failure_;
  std::optional<net::Instant> accepted_at_;
  net::Instant last_byte_at_;
  bool has_events_ = false;
  int useless_watches_ = 0;  // since the last that was of use
  bool blind_ = false;
  bool relisting_ = false;
  std::unique_ptr<Lister> lister_;
  std::unique_ptr<ApiCall> call_;
};

Reflector::Reflector(ApiClient& api, ListRequest request, ReflectorSink& sink,
                     std::string resource_version)
    : impl_(std::make_unique<Impl>(api, std::move(request), sink, std::move(resource_version))) {}

Reflector::~Reflector() = default;

void Reflector::relist() { impl_->relist(); }

void Reflector::on_restart(std::function<void(WatchRestart)> listener) {
  impl_->on_restart(std::move(listener));
}

}  // namespace lastcall::k8s
