#include "agent/observe/reflection.h"

#include <utility>

namespace lastcall::observe {

Reflection::Reflection(k8s::ApiClient& api, k8s::ReflectorSink& sink)
    : api_(api), sink_(sink), retire_(api.loop().make_timer([this] { reflector_.reset(); })) {}

void Reflection::begin(k8s::ListRequest request, std::string resource_version) {
  lasts_ = true;
  retire_->disarm();
  reflector_ = std::make_unique<k8s::Reflector>(api_, std::move(request), sink_,
                                                std::move(resource_version));
  if (listener_) reflector_->on_restart(listener_);
}

void Reflection::end() {
  lasts_ = false;
  retire_->arm(api_.loop().now());
}

void Reflection::relist() {
  if (lasts_) reflector_->relist();
}

void Reflection::on_restart(std::function<void(k8s::WatchRestart)> listener) {
  listener_ = std::move(listener);
}

}  // namespace lastcall::observe
