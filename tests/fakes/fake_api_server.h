// A Kubernetes API server and the controllers behind it, in memory.
//
// Speaks HTTP by the message: a transport hands it requests and an Exchange for the answer,
// so that the same server stands behind simulated connections and real sockets (ApiListener).
// What it says follows apiserver's handlers/get.go, handlers/watch.go, cacher.go and
// registry/rest/delete.go (FACTS 1.3). One namespace, five resources (kResources), no writes
// over HTTP but Events and access reviews.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/http_client.h"
#include "net/loop.h"
#include "tests/fakes/endpoints_controller.h"
#include "tests/fakes/kube_store.h"
#include "tests/fakes/slice_controller.h"

namespace lastcall::fakes {

// One answer under way, as the server writes it: head, any number of chunks, then end or cut.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual void head(const net::HttpResponseHead& head) = 0;
  virtual void chunk(std::string_view bytes) = 0;
  virtual void end() = 0;
  // The connection breaks.
  virtual void cut() = 0;
};

struct ApiCall {
  std::string method = "GET";
  std::string target{};  // path and query, percent-encoded
  net::Headers headers{};
  std::string body{};
};

// How a WATCH from a forgotten resourceVersion is refused (both are seen in production).
enum class GoneForm { kEvent, kStatus };

class FakeApiServer {
 public:
  // `loop` must outlive the server. `clock`: the server's wall clock; the loop's when empty.
  explicit FakeApiServer(net::Loop& loop, std::string namespace_name = "shop",
                         KubeStore::Clock clock = {});
  ~FakeApiServer();
  FakeApiServer(const FakeApiServer&) = delete;
  FakeApiServer& operator=(const FakeApiServer&) = delete;

  // ---- For transports -------------------------------------------------------------------

  // Answers within the call, save that a WATCH goes on until end() or cut(). `exchange` must
  // live until then, or until forget().
  void serve(const ApiCall& call, Exchange& exchange);
  // The peer has gone.
  void forget(Exchange& exchange);

  // ---- The cluster ----------------------------------------------------------------------

  [[nodiscard]] KubeStore& store() { return store_; }
  [[nodiscard]] SliceController& slices() { return slices_; }
  // Paused until resume().
  [[nodiscard]] EndpointsController& endpoints() { return endpoints_; }

  // A DELETE as kubectl sends it: sets deletionTimestamp to now + grace. A second one may only
  // shorten, counted from the first; zero removes the object at once. Default: the pod's own.
  void delete_pod(const std::string& name, std::optional<std::chrono::seconds> grace = {});
  // The kubelet is done: the object goes.
  void finish_pod(const std::string& name);
  void update_pod(const std::string& name, const std::function<void(Pod&)>& change);
  void set_ready(const std::string& name, bool ready);

  // ---- Credentials and troubles ---------------------------------------------------------

  // Empty (as at the start): no token is asked for.
  void set_tokens(std::set<std::string> valid) { tokens_ = std::move(valid); }
  // 403 for this verb ("get", "list", "watch") on this resource ("pods") from now on. Access
  // reviews say the same; a subresource counts as "pods/log".
  void forbid(const std::string& verb, const std::string& resource);
  void allow_all() { forbidden_.clear(); }
  // Forgets history and continue tokens: what starts from the past gets 410 in this form.
  void compact(GoneForm form);
  // Ends every WATCH, as a server does that shuts down (properly, or by a crash).
  void end_watches();
  void cut_watches();
  void set_bookmark_period(net::Duration period) { bookmark_period_ = period; }

  // ---- What it was asked ----------------------------------------------------------------

  [[nodiscard]] std::size_t watches() const { return watches_.size(); }
  // How often each "verb resource" was asked for ("list endpointslices"), refusals included.
  [[nodiscard]] const std::map<std::string, int>& asked() const { return asked_; }
  // The bodies of created Events.
  [[nodiscard]] const std::vector<std::string>& events() const { return events_; }

 private:
  struct Query;
  struct Watch;
  struct Page {
    std::uint64_t version;
    std::vector<ObjectPtr> rest;
  };

  [[nodiscard]] bool is_authorized(const ApiCall& call) const;
  void serve_known(const Query& query, Exchange& exchange);
  void create(const Query& query, const std::string& body, Exchange& exchange);
  void review(const std::string& body, Exchange& exchange);
  void get(const Query& query, Exchange& exchange);
  void list(const Query& query, Exchange& exchange);
  void watch(const Query& query, Exchange& exchange);
  void replay(Watch& watch, std::uint64_t since);
  void send(Watch& watch, const Change& change);
  void send_bookmarks();
  void arm_bookmarks();
  void remove_watch(const Exchange& exchange);

  void answer(Exchange& exchange, int status, std::string_view body,
              const std::vector<std::pair<std::string, std::string>>& headers = {});
  void forbid(const Query& query, Exchange& exchange);
  void refuse(Exchange& exchange, int status, std::string_view reason, std::string_view message);
  [[nodiscard]] net::HttpResponseHead head(int status) const;

  net::Loop& loop_;
  KubeStore::Clock clock_;
  KubeStore store_;
  SliceController slices_;
  EndpointsController endpoints_;

  std::set<std::string> tokens_;
  std::set<std::string> forbidden_;
  GoneForm gone_form_ = GoneForm::kEvent;
  std::vector<std::unique_ptr<Watch>> watches_;
  std::map<std::string, Page> pages_;  // by continue token
  std::uint64_t pages_made_ = 0;
  net::Duration bookmark_period_ = std::chrono::seconds(60);
  std::unique_ptr<net::Timer> bookmarks_;
  std::map<std::string, int> asked_;
  std::vector<std::string> events_;
};

}  // namespace lastcall::fakes
