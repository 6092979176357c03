#include "tests/demo/kubelet.h"

#include <utility>
#include <variant>

namespace lastcall::demo {

Kubelet::Kubelet(const Stage& stage, fakes::FakeApiServer& api, Config config, Events events)
    : stage_(stage), api_(api), config_(std::move(config)), events_(std::move(events)) {
  api_.store().on_change([this](const fakes::Change& change) { on_change(change); });
}

void Kubelet::on_change(const fakes::Change& change) {
  const auto* const pod = std::get_if<fakes::Pod>(&change.object->spec());
  if (pod == nullptr || change.deleted) return;
  if (!change.before) return start(*pod);
  if (pod->deletion_grace) runners_.at(pod->name)->stop(*pod->deletion_grace);
}

void Kubelet::start(const fakes::Pod& pod) {
  PodPlan plan{.name = pod.name,
               .uid = pod.uid,
               .namespace_name = api_.store().namespace_name(),
               .node = pod.node,
               .address = pod.ips.front(),
               .api_url = config_.api_url,
               .token_file = config_.token_file,
               .strategy = config_.strategy,
               .start_time = config_.scene.start_time,
               .seed = config_.scene.seed + runners_.size()};
  PodRunner::Events events{.on_ready = [this, name = pod.name] { api_.set_ready(name, true); },
                           .on_stopped = [this, name = pod.name] { events_.on_stopped(name); },
                           .on_finished = [this, name = pod.name] { api_.finish_pod(name); },
                           .on_trouble = events_.on_trouble};
  runners_.emplace(pod.name,
                   std::make_unique<PodRunner>(stage_, std::move(plan), std::move(events)));
}

}  // namespace lastcall::demo
