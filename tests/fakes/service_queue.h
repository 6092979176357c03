// What the controllers behind Services have in common: a change of a pod or a Service makes
// the Services it concerns due, and each is then synced from what the store holds.
//
// Source: pkg/controller/endpointslice and pkg/controller/endpoint.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "net/loop.h"
#include "tests/fakes/kube_store.h"

namespace lastcall::fakes {

class ServiceQueue {
 public:
  using Sync = std::function<void(const std::string& service)>;

  // `sync` may schedule. Loop and store must outlive the queue.
  ServiceQueue(net::Loop& loop, KubeStore& store, Sync sync);

  // From a change to its sync; for changes to come.
  void set_delay(net::Duration delay) { delay_ = delay; }
  // While paused nothing is synced. On resume every Service is due.
  void pause() { paused_ = true; }
  void resume();
  // Does now what is due later.
  void catch_up();

  // Nothing happens when the Service is due already.
  void schedule(const std::string& service, net::Duration delay);
  void schedule(const std::string& service) { schedule(service, delay_); }

 private:
  void on_change(const Change& change);
  void run(const std::string& service);

  net::Loop& loop_;
  KubeStore& store_;
  Sync sync_;
  net::Duration delay_{};
  bool paused_ = false;
  std::map<std::string, std::unique_ptr<net::Timer>> due_;  // by Service
};

}  // namespace lastcall::fakes
