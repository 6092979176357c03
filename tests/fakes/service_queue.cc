#include "tests/fakes/service_queue.h"

#include <utility>

#include "tests/fakes/members.h"

namespace lastcall::fakes {

ServiceQueue::ServiceQueue(net::Loop& loop, KubeStore& store, Sync sync)
    : loop_(loop), store_(store), sync_(std::move(sync)) {
  store_.on_change([this](const Change& change) { on_change(change); });
}

void ServiceQueue::resume() {
  paused_ = false;
  for (const auto& [name, object] : store_.all(Resource::kServices)) schedule(name);
}

void ServiceQueue::catch_up() {
  const auto due = std::exchange(due_, {});
  for (const auto& [service, timer] : due) run(service);
}

// A pod whose labels change concerns the Services that selected it, too.
void ServiceQueue::on_change(const Change& change) {
  const Spec& spec = change.object->spec();
  if (std::holds_alternative<Service>(spec)) schedule(name_of(spec));
  const auto* pod = std::get_if<Pod>(&spec);
  if (pod == nullptr) return;
  const auto* before = change.before ? std::get_if<Pod>(&change.before->spec()) : nullptr;
  for (const auto& [name, object] : store_.all(Resource::kServices)) {
    const auto& service = std::get<Service>(object->spec());
    const bool selected = before != nullptr && selects(service, before->labels);
    if (selected || selects(service, pod->labels)) schedule(name);
  }
}

void ServiceQueue::schedule(const std::string& service, net::Duration delay) {
  auto& timer = due_[service];
  if (timer) return;
  timer = loop_.make_timer([this, service] {
    const auto own = std::move(due_[service]);
    due_.erase(service);
    run(service);
  });
  timer->arm(loop_.now() + delay);
}

void ServiceQueue::run(const std::string& service) {
  if (!paused_) sync_(service);
}

}  // namespace lastcall::fakes
