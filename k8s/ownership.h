// The rules of PodIdentity, applied to one entry. Internal to k8s/.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "k8s/pod_identity.h"

namespace lastcall::k8s {

enum class Owner { kUs, kOthers, kWhoeverHasThePort };

// What an entry says about whom it stands for.
struct EntryTarget {
  bool has_our_address = false;
  std::string_view kind;  // of the targetRef; empty: none, or it does not say
  std::string_view uid;
};

inline Owner owner_of(const EntryTarget& target, const PodIdentity& identity) {
  if (!target.kind.empty() && target.kind != "Pod") return Owner::kOthers;
  if (!target.uid.empty()) return target.uid == identity.uid ? Owner::kUs : Owner::kOthers;
  if (!target.has_our_address) return Owner::kOthers;
  return identity.host_network ? Owner::kWhoeverHasThePort : Owner::kUs;
}

inline bool is_our_address(std::string_view address, const PodIdentity& identity) {
  const auto& ours = identity.addresses;
  return std::find(ours.begin(), ours.end(), address) != ours.end();
}

// A port without a number (0) stands for every port.
inline bool is_our_port(std::int64_t number, const PodIdentity& identity) {
  const auto same = [number](std::uint16_t ours) { return ours == number; };
  return number == 0 || std::any_of(identity.ports.begin(), identity.ports.end(), same);
}

}  // namespace lastcall::k8s
