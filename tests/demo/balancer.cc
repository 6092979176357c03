#include "tests/demo/balancer.h"

#include <utility>

#include "tests/demo/rollout.h"

namespace lastcall::demo {
namespace {

k8s::ListRequest list_request(const std::string& namespace_name) {
  k8s::ListRequest request;
  request.path = "/apis/discovery.k8s.io/v1/namespaces/" + namespace_name + "/endpointslices";
  request.resource = "endpointslices";
  request.kind = "EndpointSliceList";
  request.label_selector = std::string("kubernetes.io/service-name=") + kService;
  return request;
}

}  // namespace

Balancer::Balancer(net::Loop& loop, net::HttpClient& http, k8s::Cluster cluster,
                   const std::string& namespace_name, std::uint64_t seed, Events events)
    : loop_(loop),
      events_(std::move(events)),
      random_(seed),
      timer_(loop.make_timer([this] { apply_due(); })),
      api_(loop, http, std::move(cluster)),
      reflector_(api_, list_request(namespace_name), *this) {}

std::optional<std::string> Balancer::choose() {
  if (applied_.empty()) return std::nullopt;
  std::uniform_int_distribution<std::size_t> index(0, applied_.size() - 1);
  return applied_.at(index(random_));
}

net::Status Balancer::on_list_item(const k8s::PaddedText& item) {
  auto slice = parse_routed_slice(item);
  if (!slice.ok()) return slice.error();
  incoming_[slice.value().name] = std::move(slice.value().endpoints);
  return net::Done{};
}

void Balancer::on_list_end() {
  slices_ = std::exchange(incoming_, {});
  apply_later();
}

net::Status Balancer::on_change(k8s::WatchVerb verb, const k8s::PaddedText& object) {
  auto slice = parse_routed_slice(object);
  if (!slice.ok()) return slice.error();
  if (verb == k8s::WatchVerb::kDeleted) {
    slices_.erase(slice.value().name);
  } else {
    slices_[slice.value().name] = std::move(slice.value().endpoints);
  }
  apply_later();
  return net::Done{};
}

void Balancer::apply_later() {
  Addresses addresses = routable(slices_);
  events_.on_seen(addresses);
  net::Instant at = loop_.now() + lag_;
  if (!due_.empty()) at = std::max(at, due_.back().at);
  due_.push_back({at, std::move(addresses)});
  timer_->arm(due_.front().at);
}

void Balancer::apply_due() {
  while (!due_.empty() && due_.front().at <= loop_.now()) {
    applied_ = std::move(due_.front().addresses);
    due_.pop_front();
    events_.on_applied(applied_);
  }
  if (!due_.empty()) timer_->arm(due_.front().at);
}

}  // namespace lastcall::demo
