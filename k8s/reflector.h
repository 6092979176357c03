// LIST, then WATCH from there, for as long as it lives.
//
// Keeps no copy of what it sees: it tells a sink, which keeps what concerns it. Sources:
// apiserver cacher.go and handlers/get.go, client-go reflector (FACTS 1.3).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "k8s/lister.h"

namespace lastcall::k8s {

enum class WatchVerb { kAdded, kModified, kDeleted };

// Why a watch was begun anew, for metrics.
enum class WatchRestart { kServerClosed, kExpired, kError, kStalled, kInvalid };

[[nodiscard]] std::string_view to_string(WatchRestart reason);

// It may call relist() from any of these, but must not destroy the reflector.
class ReflectorSink {
 public:
  virtual ~ReflectorSink() = default;

  // Between begin and end every item of a new list comes; it replaces all that was known,
  // once end is called. Begin may come again before an end: the earlier begin is void.
  virtual void on_list_begin() = 0;
  virtual net::Status on_list_item(const PaddedText& item) = 0;
  virtual void on_list_end() = 0;

  // `object` holds the JSON of the object alone. An error makes the reflector LIST again.
  virtual net::Status on_change(WatchVerb verb, const PaddedText& object) = 0;

  // What is known may be out of date from now on: a LIST or WATCH failed. Repeated for each
  // further failure. A watch that lived and was closed or fell silent is no failure yet: the
  // next one goes on where it ended, and it counts only when that fails.
  virtual void on_blind(const net::Error& error) = 0;
  // What is known is current again (a WATCH was accepted after on_blind). A finished LIST
  // says the same by on_list_end.
  virtual void on_sight() = 0;
};

// Retries for ever with jittered backoff (200 ms to 5 s; Retry-After when longer), relists on
// 410 of either form, on any other ERROR event and on anything it cannot understand, goes on
// from the last resourceVersion (bookmarks included) after a close or a lost connection.
//
// The backoff starts anew after a watch that gave an event or stayed open for 5 s; one that
// did neither is a failure even when it was closed in order, so that no server makes us spin.
//
// Where watches are refused, or something on the way breaks each of them, LISTs may still be
// answered: after three such failures in a row it LISTs before each further attempt. A server that
// asks for time (Retry-After) is not asked for more.
class Reflector {
 public:
  // `api` and `sink` must outlive the reflector. Starts at once: with a LIST, or with a WATCH from
  // `resource_version` if there is one.
  Reflector(ApiClient& api, ListRequest request, ReflectorSink& sink,
            std::string resource_version = {});
  ~Reflector();

  // Lists again now (an operator or an observer wants a fresh consistent LIST), then watches
  // on from it. A list under way that began before is replaced: the next on_list_end tells of
  // a LIST asked for after this call.
  void relist();

  // At most one listener.
  void on_restart(std::function<void(WatchRestart)> listener);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lastcall::k8s
