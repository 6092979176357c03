#include "tests/demo/routing.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace lastcall::demo {
namespace {

using Json = nlohmann::json;

template <class Choose>
std::vector<std::string> addresses(const Slices& slices, Choose choose) {
  std::vector<std::string> result;
  for (const auto& [name, endpoints] : slices) {
    for (const auto& endpoint : endpoints) {
      if (choose(endpoint)) result.push_back(endpoint.address);
    }
  }
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

net::Error invalid(const char* what) { return {net::ErrorCode::kInvalid, what, {}}; }

// An absent condition means ready, serving and not terminating.
bool condition(const Json& conditions, const char* name, bool absent) {
  const auto it = conditions.find(name);
  return it != conditions.end() && it->is_boolean() ? it->get<bool>() : absent;
}

}  // namespace

net::Result<RoutedSlice> parse_routed_slice(const k8s::PaddedText& json) {
  const Json slice = Json::parse(json.view(), nullptr, false);
  if (!slice.is_object()) return invalid("EndpointSlice: not a JSON object");
  const Json name = slice.value("/metadata/name"_json_pointer, Json());
  if (!name.is_string()) return invalid("EndpointSlice: no name");
  RoutedSlice result{name.get<std::string>(), {}};
  const Json endpoints = slice.value("endpoints", Json::array());
  for (const Json& endpoint : endpoints) {
    const Json address = endpoint.value("/addresses/0"_json_pointer, Json());
    if (!address.is_string()) return invalid("EndpointSlice: an endpoint without an address");
    const Json conditions = endpoint.value("conditions", Json::object());
    result.endpoints.push_back({address.get<std::string>(), condition(conditions, "ready", true),
                                condition(conditions, "serving", true),
                                condition(conditions, "terminating", false)});
  }
  return result;
}

std::vector<std::string> routable(const Slices& slices) {
  auto ready = addresses(slices, [](const RoutedEndpoint& e) { return e.ready; });
  if (!ready.empty()) return ready;
  return addresses(slices, [](const RoutedEndpoint& e) { return e.serving && e.terminating; });
}

}  // namespace lastcall::demo
