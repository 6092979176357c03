#include "tests/demo/rollout.h"

#include <utility>

namespace lastcall::demo {
namespace {

const fakes::Labels kLabels{{"app", kService}};

std::string old_pod(int number) { return "old-" + std::to_string(number); }
std::string new_pod(int number) { return "new-" + std::to_string(number); }

}  // namespace

Rollout::Rollout(net::Loop& loop, fakes::FakeApiServer& api, int replicas, int subnet,
                 std::function<void()> on_done)
    : loop_(loop),
      api_(api),
      replicas_(replicas),
      subnet_(subnet),
      on_done_(std::move(on_done)),
      soon_(loop.make_timer([this] { proceed(); })) {
  fakes::Service service;
  service.name = kService;
  service.selector = kLabels;
  api_.store().put(std::move(service));
  for (int i = 1; i <= replicas_; ++i) create(old_pod(i));
  api_.store().on_change([this](const fakes::Change& change) {
    const bool is_pod = std::holds_alternative<fakes::Pod>(change.object->spec());
    if (begun_ && is_pod) soon_->arm(loop_.now());
  });
}

void Rollout::begin() {
  begun_ = true;
  proceed();
}

void Rollout::create(const std::string& name) {
  fakes::Pod pod;
  pod.name = name;
  pod.labels = kLabels;
  pod.ips = {"127.0." + std::to_string(subnet_) + "." + std::to_string(++addresses_)};
  pod.ready = false;
  api_.store().put(std::move(pod));
}

void Rollout::proceed() {
  if (created_ > deleted_ && is_ready(new_pod(created_))) api_.delete_pod(old_pod(++deleted_));
  if (created_ == deleted_ && created_ < replicas_) create(new_pod(++created_));
  if (done_ || deleted_ < replicas_ || old_pods_left()) return;
  done_ = true;
  on_done_();
}

bool Rollout::is_ready(const std::string& name) const {
  const auto* const pod = api_.store().get<fakes::Pod>(fakes::Resource::kPods, name);
  return pod != nullptr && pod->ready;
}

bool Rollout::old_pods_left() const {
  for (int i = 1; i <= replicas_; ++i) {
    if (api_.store().find(fakes::Resource::kPods, old_pod(i))) return true;
  }
  return false;
}

}  // namespace lastcall::demo
