#include "tests/demo/chronicle.h"

#include <algorithm>
#include <iomanip>
#include <sstream>
#include <variant>

namespace lastcall::demo {
namespace {

constexpr seconds kPulse{2};

std::string in_seconds(net::Duration duration) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(1) << std::chrono::duration<double>(duration).count()
       << " s";
  return text.str();
}

bool lists(const std::vector<std::string>& addresses, const PodLife& pod) {
  return std::binary_search(addresses.begin(), addresses.end(), pod.address);
}

}  // namespace

Chronicle::Chronicle(net::Loop& loop, fakes::KubeStore& store, Recording& recording,
                     std::ostream& out)
    : loop_(loop), recording_(recording), out_(out), pulse_(loop.make_timer([this] { tell(""); })) {
  store.on_change([this](const fakes::Change& change) {
    if (std::holds_alternative<fakes::Pod>(change.object->spec())) on_pod(change);
  });
}

void Chronicle::begin_rollout() {
  begun_ = true;
  recording_.rollout_began = loop_.now();
  tell("the rollout begins");
}

void Chronicle::end_rollout() {
  recording_.rollout_ended = loop_.now();
  tell("the rollout is over");
}

void Chronicle::on_pod(const fakes::Change& change) {
  const auto& spec = std::get<fakes::Pod>(change.object->spec());
  if (!change.before) {
    recording_.pods.push_back({.name = spec.name, .address = spec.ips.front(), .old = !begun_});
    recording_.pods.back().created = loop_.now();
    return;
  }
  PodLife& pod = *recording_.pod(spec.name);
  if (change.deleted) {
    pod.gone = loop_.now();
    tell_after_delete(pod, "is gone");
  } else if (spec.deletion_timestamp && !pod.deleted) {
    pod.deleted = loop_.now();
    tell(pod.name + ": DELETE");
  } else if (spec.ready && !pod.ready) {
    pod.ready = loop_.now();
    tell(pod.name + " is ready");
  }
}

void Chronicle::pod_stopped(const std::string& name) {
  recording_.pod(name)->stopped = loop_.now();
}

void Chronicle::slices_say(const std::vector<std::string>& addresses) {
  for (auto& pod : recording_.pods) {
    if (pod.deleted && !pod.slice_withdrawn && !lists(addresses, pod)) {
      pod.slice_withdrawn = loop_.now();
    }
  }
}

void Chronicle::balancer_does(const std::vector<std::string>& addresses) {
  for (auto& pod : recording_.pods) {
    const bool listed = lists(addresses, pod);
    if (listed && !pod.routed) pod.routed = loop_.now();
    if (pod.deleted && !listed && !pod.unrouted) {
      pod.unrouted = loop_.now();
      tell_after_delete(pod, "is not chosen any more");
    }
  }
}

void Chronicle::tell_after_delete(const PodLife& pod, const std::string& what) {
  tell(pod.name + " " + what + ", " + in_seconds(loop_.now() - *pod.deleted) + " after its DELETE");
}

void Chronicle::tell(const std::string& what) {
  if (!begun_) return;
  out_ << std::setw(10) << in_seconds(loop_.now() - recording_.rollout_began) << "  "
       << std::setw(58) << std::left << what << std::right << std::setw(5)
       << recording_.samples.size() << " requests, " << recording_.failed << " failed" << std::endl;
  pulse_->arm(loop_.now() + kPulse);
}

}  // namespace lastcall::demo
