// A Reflector that comes and goes with the holds.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "k8s/api_client.h"
#include "k8s/reflector.h"

namespace lastcall::observe {

class Reflection {
 public:
  // Both must outlive this object.
  Reflection(k8s::ApiClient& api, k8s::ReflectorSink& sink);

  // LISTs and WATCHes from now on, in place of what was reflected before; with a WATCH alone when
  // there is a `resource_version` to begin at. Not from inside the sink.
  void begin(k8s::ListRequest request, std::string resource_version = {});
  // No more of it after this turn of the loop. Also from inside the sink.
  void end();
  // A fresh LIST, if there is anything to list. Also from inside the sink.
  void relist();

  // Whether there has been a begin() and no end() since.
  [[nodiscard]] bool lasts() const { return lasts_; }

  // At most one listener; for metrics.
  void on_restart(std::function<void(k8s::WatchRestart)> listener);

 private:
  k8s::ApiClient& api_;
  k8s::ReflectorSink& sink_;
  std::function<void(k8s::WatchRestart)> listener_;
  bool lasts_ = false;
  std::unique_ptr<k8s::Reflector> reflector_;
  std::unique_ptr<net::Timer> retire_;
};

}  // namespace lastcall::observe
