#include "tests/fakes/slice_controller.h"

#include <algorithm>
#include <utility>

#include "tests/fakes/members.h"

namespace lastcall::fakes {
namespace {

Endpoint endpoint_of(const Pod& pod, const std::string& address, const Service& service) {
  const bool terminating = pod.deletion_timestamp.has_value();
  const bool ready = service.publish_not_ready || (pod.ready && !terminating);
  return {pod.name, pod.uid, address, pod.node, ready, pod.ready, terminating};
}

bool same_place(const Endpoint& a, const Endpoint& b) {
  return a.uid == b.uid && a.address == b.address;
}

bool holds(const Slice& slice, const Endpoint& endpoint) {
  return std::any_of(slice.endpoints.begin(), slice.endpoints.end(),
                     [&](const Endpoint& listed) { return same_place(listed, endpoint); });
}

bool holds(const Slice& slice, const std::string& pod) {
  return std::any_of(slice.endpoints.begin(), slice.endpoints.end(),
                     [&](const Endpoint& endpoint) { return endpoint.pod == pod; });
}

}  // namespace

SliceController::SliceController(net::Loop& loop, KubeStore& store)
    : loop_(loop),
      store_(store),
      queue_(loop, store, [this](const std::string& service) { sync(service); }) {}

// Slices whose Service went meanwhile are due as well.
void SliceController::resume() {
  queue_.resume();
  for (const auto& [name, object] : store_.all(Resource::kSlices)) {
    const auto& slice = std::get<Slice>(object->spec());
    if (slice.managed_by == kSliceController) queue_.schedule(slice.service);
  }
}

void SliceController::catch_up() {
  const auto gap = std::exchange(write_gap_, net::Duration::zero());
  queue_.catch_up();
  write_gap_ = gap;
}

void SliceController::sync(const std::string& service) {
  const auto* found = store_.get<Service>(Resource::kServices, service);
  if (found == nullptr) {
    for (const auto& slice : slices_of(service)) store_.remove(Resource::kSlices, slice.name);
    return;
  }
  if (found->selector.empty()) return;
  auto wanted = desired(*found);
  change_ports(service, wanted);
  if (sync_existing(service, wanted)) place(service, wanted);
}

// Endpoints whose ports have changed enter their new slices before they leave the old ones. Of
// a slice that is to go and one that is to come, the real controller makes one update, and it
// creates before it updates (finalize()).
void SliceController::change_ports(const std::string& service, const std::vector<Wanted>& desired) {
  const auto old = slices_of(service);
  auto slices = old;
  for (const auto& wanted : desired) {
    if (must_change_ports(wanted, old)) {
      room_for(wanted, service, slices).endpoints.push_back(wanted.endpoint);
    }
  }
  for (std::size_t i = 0; i < old.size() && slices.size() > old.size(); ++i) {
    if (slices[i].ipv6 != slices.back().ipv6 || !is_obsolete(slices[i], desired)) continue;
    slices.back().name = slices[i].name;
    slices[i] = std::move(slices.back());
    slices.pop_back();
  }
  for (std::size_t i = old.size(); i < slices.size(); ++i) store_.put(slices[i]);
  for (std::size_t i = 0; i < old.size(); ++i) {
    if (slices[i] != old[i]) store_.put(slices[i]);
  }
}

bool SliceController::sync_existing(const std::string& service, std::vector<Wanted>& desired) {
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
      queue_.schedule(service, write_gap_);
      return false;
    }
  }
  std::erase_if(desired, [&](const Wanted& wanted) {
    return std::any_of(placed.begin(), placed.end(),
                       [&](const Endpoint& p) { return same_place(p, wanted.endpoint); });
  });
  return true;
}

void SliceController::place(const std::string& service, const std::vector<Wanted>& desired) {
  for (const auto& wanted : desired) {
    auto slices = slices_of(service);
    Slice& slice = room_for(wanted, service, slices);
    slice.endpoints.push_back(wanted.endpoint);
    store_.put(std::move(slice));
  }
}

Slice& SliceController::room_for(const Wanted& wanted, const std::string& service,
                                 std::vector<Slice>& slices) {
  const bool ipv6 = is_ipv6(wanted.endpoint.address);
  const auto room = std::find_if(slices.begin(), slices.end(), [&](const Slice& slice) {
    return slice.ipv6 == ipv6 && slice.ports == wanted.ports &&
           slice.endpoints.size() < endpoints_max_;
  });
  if (room != slices.end()) return *room;
  Slice& slice = slices.emplace_back();
  slice.name = make_name(service);
  slice.service = service;
  slice.ipv6 = ipv6;
  slice.ports = wanted.ports;
  return slice;
}

// It is listed, but nowhere with its ports.
bool SliceController::must_change_ports(const Wanted& wanted, const std::vector<Slice>& slices) {
  bool is_listed = false;
  for (const auto& slice : slices) {
    if (!holds(slice, wanted.endpoint)) continue;
    if (slice.ports == wanted.ports) return false;
    is_listed = true;
  }
  return is_listed;
}

// What `slice` should hold of `desired`.
Slice SliceController::updated(Slice slice, const std::vector<Wanted>& desired) {
  std::vector<Endpoint> kept;
  for (const auto& endpoint : slice.endpoints) {
    const auto it = std::find_if(desired.begin(), desired.end(), [&](const Wanted& wanted) {
      return wanted.ports == slice.ports && same_place(wanted.endpoint, endpoint);
    });
    if (it != desired.end()) kept.push_back(it->endpoint);
  }
  slice.endpoints = std::move(kept);
  return slice;
}

// Nobody is to stand in a slice of these ports and this family any more.
bool SliceController::is_obsolete(const Slice& slice, const std::vector<Wanted>& desired) {
  return std::none_of(desired.begin(), desired.end(), [&](const Wanted& wanted) {
    return wanted.ports == slice.ports && is_ipv6(wanted.endpoint.address) == slice.ipv6;
  });
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
  queue_.schedule(own->service, net::Duration::zero());
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

std::vector<SliceController::Wanted> SliceController::desired(const Service& service) const {
  std::vector<Wanted> all;
  for (const auto& [name, object] : store_.all(Resource::kPods)) {
    const auto& pod = std::get<Pod>(object->spec());
    if (!selects(service, pod.labels) || has_ended(pod) || is_moving(service.name, name)) continue;
    for (const auto& ip : pod.ips) {
      all.push_back({endpoint_of(pod, ip, service), ports_of(service, pod)});
    }
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
