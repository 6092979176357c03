#include "tests/demo/control_plane.h"

#include <utility>

namespace lastcall::demo {
namespace {

void apply(const fakes::Change& change, fakes::KubeStore& store) {
  const fakes::Spec& spec = change.object->spec();
  if (change.deleted) {
    store.remove(fakes::resource_of(spec), fakes::name_of(spec));
  } else {
    store.put(spec);
  }
}

bool is_slice(const fakes::Change& change) {
  return fakes::resource_of(change.object->spec()) == fakes::Resource::kSlices;
}

}  // namespace

ControlPlane::ControlPlane(net::Loop& loop, fakes::FakeApiServer& api)
    : loop_(loop),
      published_(api.store()),
      cache_(published_.namespace_name(), [&loop] { return loop.wall_now(); }),
      controller_(loop, cache_),
      timer_(loop.make_timer([this] { learn_due(); })) {
  api.slices().pause();
  published_.on_change([this](const fakes::Change& change) {
    if (!is_slice(change)) learn_later(change);
  });
  cache_.on_change([this](const fakes::Change& change) {
    if (is_slice(change)) apply(change, published_);
  });
}

// A shorter lag does not let later changes overtake.
void ControlPlane::learn_later(const fakes::Change& change) {
  net::Instant at = loop_.now() + lag_;
  if (!due_.empty()) at = std::max(at, due_.back().at);
  due_.push_back({at, change});
  timer_->arm(due_.front().at);
}

void ControlPlane::learn_due() {
  while (!due_.empty() && due_.front().at <= loop_.now()) {
    const Due due = std::move(due_.front());
    due_.pop_front();
    apply(due.change, cache_);
  }
  if (!due_.empty()) timer_->arm(due_.front().at);
}

}  // namespace lastcall::demo
