// The legacy endpoints controller: pods and Services in, Endpoints out.
//
// Source: pkg/controller/endpoint/endpoints_controller.go and pkg/api/v1/endpoints (FACTS 1.1).
// A terminating pod leaves both lists at once, unless the Service publishes addresses that are
// not ready. One address per pod: its first.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "net/loop.h"
#include "tests/fakes/kube_store.h"
#include "tests/fakes/service_queue.h"

namespace lastcall::fakes {

// Paused from the start, as in a cluster where this controller is switched off: there are no
// Endpoints then but those that a test puts into the store, and nobody keeps them up to date.
class EndpointsController {
 public:
  // Both must outlive the controller.
  EndpointsController(net::Loop& loop, KubeStore& store);

  // How long after a change of a pod or a Service its Endpoints are written; for changes to
  // come.
  void set_delay(net::Duration delay) { queue_.set_delay(delay); }
  // What goes beyond this is left out, and the annotation says so.
  void set_endpoints_max(std::size_t endpoints_max) { endpoints_max_ = endpoints_max; }
  // While paused nothing is written; what has changed meanwhile is written on resume.
  void pause() { queue_.pause(); }
  void resume();
  // Does now what is due later.
  void catch_up() { queue_.catch_up(); }

 private:
  void sync(const std::string& service);
  [[nodiscard]] std::vector<Subset> subsets(const Service& service) const;
  bool truncate(std::vector<Subset>& subsets) const;

  KubeStore& store_;
  ServiceQueue queue_;
  std::size_t endpoints_max_ = 1000;
};

}  // namespace lastcall::fakes
