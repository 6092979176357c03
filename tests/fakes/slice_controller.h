// The endpointslice controller: pods and Services in, EndpointSlices out.
//
// Source: kubernetes/endpointslice utils.go and reconciler.go (FACTS 1.1). An address stays in
// its slice while the pod terminates, with ready=false; it goes with the Pod object. Pods that
// serve at different ports stand in different slices, and a Service without a selector is left
// alone. Only slices that name this controller as their manager are its own.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "net/loop.h"
#include "tests/fakes/kube_store.h"
#include "tests/fakes/service_queue.h"

namespace lastcall::fakes {

class SliceController {
 public:
  // Both must outlive the controller.
  SliceController(net::Loop& loop, KubeStore& store);

  // How long after a change of a pod or a Service its slices are written; for changes to come.
  void set_delay(net::Duration delay) { queue_.set_delay(delay); }
  // The pause between two writes of one round; zero: all at once.
  void set_write_gap(net::Duration gap) { write_gap_ = gap; }
  // Of one slice; the real one allows 1 to 1000.
  void set_endpoints_max(std::size_t endpoints_max) { endpoints_max_ = endpoints_max; }
  // While paused nothing is written; what has changed meanwhile is written on resume.
  void pause() { queue_.pause(); }
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
  // An endpoint, and the ports of the slices it may stand in.
  struct Wanted {
    Endpoint endpoint;
    std::vector<EndpointPort> ports;
  };
  struct Move {
    std::string service;
    std::string pod;
    std::vector<Slice> waiting;
    std::unique_ptr<net::Timer> timer;
  };

  void sync(const std::string& service);
  void change_ports(const std::string& service, const std::vector<Wanted>& desired);
  // Returns false when more is to be written after a pause.
  bool sync_existing(const std::string& service, std::vector<Wanted>& desired);
  void place(const std::string& service, const std::vector<Wanted>& desired);
  // One of `slices` where there is room, or a new one at their end.
  Slice& room_for(const Wanted& wanted, const std::string& service, std::vector<Slice>& slices);
  void finish_move(const Move& move);

  [[nodiscard]] bool is_moving(const std::string& service, const std::string& pod) const;
  [[nodiscard]] static bool must_change_ports(const Wanted& wanted,
                                              const std::vector<Slice>& slices);
  [[nodiscard]] static Slice updated(Slice slice, const std::vector<Wanted>& desired);
  [[nodiscard]] static bool is_obsolete(const Slice& slice, const std::vector<Wanted>& desired);
  [[nodiscard]] std::vector<Wanted> desired(const Service& service) const;
  [[nodiscard]] std::vector<Slice> slices_of(const std::string& service) const;
  [[nodiscard]] std::string make_name(const std::string& service);

  net::Loop& loop_;
  KubeStore& store_;
  ServiceQueue queue_;
  net::Duration write_gap_{};
  std::size_t endpoints_max_ = 100;
  std::uint64_t names_ = 0;
  std::vector<std::unique_ptr<Move>> moves_;
};

}  // namespace lastcall::fakes
