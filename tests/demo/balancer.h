// A balancer as kube-proxy is one for a ClusterIP: it follows the EndpointSlices over HTTP and
// chooses an endpoint for each new connection.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "k8s/api_client.h"
#include "k8s/reflector.h"
#include "net/http_client.h"
#include "net/loop.h"
#include "tests/demo/routing.h"

namespace lastcall::demo {

class Balancer final : private k8s::ReflectorSink {
 public:
  using Addresses = std::vector<std::string>;  // sorted
  struct Events {
    std::function<void(const Addresses&)> on_seen;     // the slices say so
    std::function<void(const Addresses&)> on_applied;  // the balancer does so
  };

  // `loop` and `http` must outlive it. Starts at once, with no lag.
  Balancer(net::Loop& loop, net::HttpClient& http, k8s::Cluster cluster,
           const std::string& namespace_name, std::uint64_t seed, Events events);
  Balancer(const Balancer&) = delete;
  Balancer& operator=(const Balancer&) = delete;

  // How long after it was seen a change is applied; for changes to come.
  void set_lag(net::Duration lag) { lag_ = lag; }

  // Uniformly among what is applied; nullopt when nothing is left.
  [[nodiscard]] std::optional<std::string> choose();

  [[nodiscard]] const Addresses& applied() const { return applied_; }
  // Whether all that was seen is applied.
  [[nodiscard]] bool is_current() const { return due_.empty(); }

 private:
  struct Due {
    net::Instant at;
    Addresses addresses;
  };

  void on_list_begin() override { incoming_.clear(); }
  net::Status on_list_item(const k8s::PaddedText& item) override;
  void on_list_end() override;
  net::Status on_change(k8s::WatchVerb verb, const k8s::PaddedText& object) override;
  // As kube-proxy: what is known goes on being used.
  void on_blind(const net::Error&) override {}
  void on_sight() override {}

  void apply_later();
  void apply_due();

  net::Loop& loop_;
  Events events_;
  std::mt19937_64 random_;
  net::Duration lag_{};
  Slices slices_;
  Slices incoming_;
  std::deque<Due> due_;
  Addresses applied_;
  std::unique_ptr<net::Timer> timer_;
  k8s::ApiClient api_;
  k8s::Reflector reflector_;
};

}  // namespace lastcall::demo
