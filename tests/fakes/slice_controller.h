// The endpointslice controller: pods and Services in, EndpointSlices out.
//
// Source: kubernetes/endpointslice utils.go and reconciler.go (FACTS 1.1). An address stays in
// its slice while the pod terminates, with ready=false; it goes with the Pod object.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "net/loop.h"
#include "tests/fakes/kube_store.h"

namespace lastcall::fakes {

class SliceController {
 public:
  // Both must outlive the controller.
  SliceController(net::Loop& loop, KubeStore& store);

  // How long after a change of a pod or a Service its slices are written; for changes to come.
  void set_delay(net::Duration delay) { delay_ = delay; }
  // The pause between two writes of one round; zero: all at once.
  void set_write_gap(net::Duration gap) { write_gap_ = gap; }
  void set_endpoints_max(std::size_t endpoints_max) { endpoints_max_ = endpoints_max; }
  // While paused nothing is written; what has changed meanwhile is written on resume.
  void pause();
  void resume();
  // Does now what is due later.
  void catch_up();

  // Takes a pod's endpoints out of their slices now, and puts them into a new slice after
  // `gap`: what a rebalancing looks like from outside.
  void move_endpoint(const std::string& service, const std::string& pod, net::Duration gap);
  // What has been taken out by such moves and not been put back yet.
  [[nodiscard]] std::vector<Endpoint> in_transit(const std::string& service) const;
  // Lists a pod's endpoints in a second slice too, which happens for a while.
  void duplicate_endpoint(const std::string& service, const std::string& pod);

  // The controller's endpoints of a Service, from all its slices.
  [[nodiscard]] std::vector<Endpoint> endpoints(const std::string& service) const;

 private:
  struct Move {
    std::string service;
    std::string pod;
    std::vector<Slice> waiting;
    std::unique_ptr<net::Timer> timer;
  };

  void on_change(const Change& change);
  void schedule(const std::string& service, net::Duration delay);
  void sync(const std::string& service);
  // Returns false when more is to be written after a pause.
  bool sync_existing(const std::string& service, std::vector<Endpoint>& desired);
  void place(const Service& service, const std::vector<Endpoint>& desired);
  void finish_move(const Move& move);

  [[nodiscard]] bool is_moving(const std::string& service, const std::string& pod) const;
  [[nodiscard]] std::vector<Endpoint> desired(const Service& service) const;
  [[nodiscard]] std::vector<Slice> slices_of(const std::string& service) const;
  [[nodiscard]] std::string make_name(const std::string& service);

  net::Loop& loop_;
  KubeStore& store_;
  net::Duration delay_{};
  net::Duration write_gap_{};
  std::size_t endpoints_max_ = 100;
  bool paused_ = false;
  std::uint64_t names_ = 0;
  std::map<std::string, std::unique_ptr<net::Timer>> due_;  // by Service
  std::vector<std::unique_ptr<Move>> moves_;
};

}  // namespace lastcall::fakes
