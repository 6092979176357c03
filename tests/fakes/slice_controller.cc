#include "tests/fakes/slice_controller.h"

#include <algorithm>
#include <utility>

namespace lastcall::fakes {
namespace {

bool selects(const Service& service, const Labels& labels) {
  return !service.selector.empty() &&
         std::all_of(service.selector.begin(), service.selector.end(), [&](const auto& wanted) {
           const auto it = labels.find(wanted.first);
           return it != labels.end() && it->second == wanted.second;
         });
}

bool is_ipv6(const std::string& address) { return address.find(':') != std::string::npos; }

bool has_ended(const Pod& pod) { return pod.phase == "Failed" || pod.phase == "Succeeded"; }

Endpoint endpoint_of(const Pod& pod, const std::string& address, const Service& service) {
  const bool terminating = pod.deletion_timestamp.has_value();
  const bool ready = service.publish_not_ready || (pod.ready && !terminating);
  return {pod.name, pod.uid, address, pod.node, ready, pod.ready, terminating};
}

bool same_place(const Endpoint& a, const Endpoint& b) {
  return a.uid == b.uid && a.address == b.address;
}

bool holds(const Slice& slice, const std::string& pod) {
  return std::any_of(slice.endpoints.begin(), slice.endpoints.end(),
                     [&](const Endpoint& endpoint) { return endpoint.pod == pod; });
}

// What `slice` should hold of `desired`.
Slice updated(Slice slice, const std::vector<Endpoint>& desired) {
  std::vector<Endpoint> kept;
  for (const auto& endpoint : slice.endpoints) {
    const auto it = std::find_if(desired.begin(), desired.end(),
                                 [&](const Endpoint& d) { return same_place(d, endpoint); });
    if (it != desired.end()) kept.push_back(*it);
  }
  slice.endpoints = std::move(kept);
  return slice;
}

}  // namespace

SliceController::SliceController(net::Loop& loop, KubeStore& store) : loop_(loop), store_(store) {
  store_.on_change([this](const Change& change) { on_change(change); });
}

void SliceController::pause() { paused_ = true; }

void SliceController::resume() {
  paused_ = false;
  for (const auto& [name, object] : store_.all(Resource::kServices)) schedule(name, delay_);
}

void SliceController::catch_up() {
  const auto gap = std::exchange(write_gap_, net::Duration::zero());
  const auto due = std::exchange(due_, {});
  for (const auto& [service, timer] : due) sync(service);
  write_gap_ = gap;
}

void SliceController::on_change(const Change& change) {
  const Spec& spec = change.object->spec();
  if (std::holds_alternative<Service>(spec)) schedule(name_of(spec), delay_);
  const auto* pod = std::get_if<Pod>(&spec);
  if (pod == nullptr) return;
  for (const auto& [name, object] : store_.all(Resource::kServices)) {
    if (selects(std::get<Service>(object->spec()), pod->labels)) schedule(name, delay_);
  }
}

void SliceController::schedule(const std::string& service, net::Duration delay) {
  auto& timer = due_[service];
  if (timer) return;
  timer = loop_.make_timer([this, service] {
    const auto own = std::move(due_[service]);
    due_.erase(service);
    sync(service);
  });
  timer->arm(loop_.now() + delay);
}

void SliceController::sync(const std::string& service) {
  if (paused_) return;
  const auto* found = store_.get<Service>(Resource::kServices, service);
  if (found == nullptr) {
    for (const auto& slice : slices_of(service)) store_.remove(Resource::kSlices, slice.name);
    return;
  }
  auto wanted = desired(*found);
  if (sync_existing(service, wanted)) place(*found, wanted);
}

bool SliceController::sync_existing(const std::string& service, std::vector<Endpoint>& desired) {
  auto slices = slices_of(service);
  std::size_t left = slices.size();
  std::vector<Endpoint> placed;
  for (const auto& slice : slices) {
    const Slice wanted = updated(slice, desired);
    placed.insert(placed.end(), wanted.endpoints.begin(), wanted.endpoints.end());
    if (wanted == slice) continue;
    if (wanted.endpoints.empty() && left > 1) {
      store_.remove(Resource::kSlices, slice.name);
      --left;
    } else {
      store_.put(wanted);
    }
    if (write_gap_ > net::Duration::zero()) {
      schedule(service, write_gap_);
      return false;
    }
  }
  std::erase_if(desired, [&](const Endpoint& endpoint) {
    return std::any_of(placed.begin(), placed.end(),
                       [&](const Endpoint& p) { return same_place(p, endpoint); });
  });
  return true;
}

void SliceController::place(const Service& service, const std::vector<Endpoint>& desired) {
  for (const auto& endpoint : desired) {
    const bool ipv6 = is_ipv6(endpoint.address);
    auto slices = slices_of(service.name);
    const auto room = std::find_if(slices.begin(), slices.end(), [&](const Slice& slice) {
      return slice.ipv6 == ipv6 && slice.endpoints.size() < endpoints_max_;
    });
    Slice slice = room != slices.end() ? *room : Slice{make_name(service.name),
                                                       service.name,
                                                       std::string(kSliceController),
                                                       ipv6,
                                                       service.port,
                                                       {}};
    slice.endpoints.push_back(endpoint);
    store_.put(std::move(slice));
  }
}

void SliceController::move_endpoint(const std::string& service, const std::string& pod,
                                    net::Duration gap) {
  auto slices = slices_of(service);
  std::erase_if(slices, [&](const Slice& slice) { return !holds(slice, pod); });
  auto& move = *moves_.emplace_back(std::make_unique<Move>());
  move.service = service;
  move.pod = pod;
  for (auto& slice : slices) {
    Slice& moved = move.waiting.emplace_back(slice);
    moved.name = make_name(service);
    std::erase_if(moved.endpoints, [&](const Endpoint& e) { return e.pod != pod; });
    std::erase_if(slice.endpoints, [&](const Endpoint& e) { return e.pod == pod; });
  }
  move.timer = loop_.make_timer([this, &move] { finish_move(move); });
  move.timer->arm(loop_.now() + gap);
  for (auto& slice : slices) store_.put(std::move(slice));
}

void SliceController::finish_move(const Move& move) {
  const auto it = std::find_if(moves_.begin(), moves_.end(),
                               [&](const auto& candidate) { return candidate.get() == &move; });
  const auto own = std::move(*it);
  moves_.erase(it);
  for (auto& slice : own->waiting) store_.put(std::move(slice));
  schedule(own->service, net::Duration::zero());
}

bool SliceController::is_moving(const std::string& service, const std::string& pod) const {
  return std::any_of(moves_.begin(), moves_.end(), [&](const auto& move) {
    return move->service == service && move->pod == pod;
  });
}

std::vector<Endpoint> SliceController::in_transit(const std::string& service) const {
  std::vector<Endpoint> all;
  for (const auto& move : moves_) {
    if (move->service != service) continue;
    for (const auto& slice : move->waiting) {
      all.insert(all.end(), slice.endpoints.begin(), slice.endpoints.end());
    }
  }
  return all;
}

void SliceController::duplicate_endpoint(const std::string& service, const std::string& pod) {
  for (auto slice : slices_of(service)) {
    if (!holds(slice, pod)) continue;
    slice.name = make_name(service);
    std::erase_if(slice.endpoints, [&](const Endpoint& e) { return e.pod != pod; });
    store_.put(std::move(slice));
  }
}

std::vector<Endpoint> SliceController::endpoints(const std::string& service) const {
  std::vector<Endpoint> all;
  for (const auto& slice : slices_of(service)) {
    all.insert(all.end(), slice.endpoints.begin(), slice.endpoints.end());
  }
  return all;
}

std::vector<Endpoint> SliceController::desired(const Service& service) const {
  std::vector<Endpoint> all;
  for (const auto& [name, object] : store_.all(Resource::kPods)) {
    const auto& pod = std::get<Pod>(object->spec());
    if (!selects(service, pod.labels) || has_ended(pod) || is_moving(service.name, name)) continue;
    for (const auto& ip : pod.ips) all.push_back(endpoint_of(pod, ip, service));
  }
  return all;
}

std::vector<Slice> SliceController::slices_of(const std::string& service) const {
  std::vector<Slice> found;
  for (const auto& [name, object] : store_.all(Resource::kSlices)) {
    const auto& slice = std::get<Slice>(object->spec());
    if (slice.service == service && slice.managed_by == kSliceController) found.push_back(slice);
  }
  return found;
}

std::string SliceController::make_name(const std::string& service) {
  static constexpr std::string_view kLetters = "bcdfghjklmnpqrstvwxz2456789";
  std::string name = service + "-";
  auto value = ++names_ * 7'368'787;
  for (int i = 0; i < 5; ++i) {
    name.push_back(kLetters.at(value % kLetters.size()));
    value /= kLetters.size();
  }
  return name;
}

}  // namespace lastcall::fakes
