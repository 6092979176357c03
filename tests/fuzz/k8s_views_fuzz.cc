// The typed views and the texts inside them, on anything.
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

#include "k8s/access_review.h"
#include "k8s/api_client.h"
#include "k8s/endpoints_view.h"
#include "k8s/node_view.h"
#include "k8s/pod_view.h"
#include "k8s/service_view.h"
#include "k8s/slice_view.h"
#include "k8s/time.h"

namespace {

void check(const std::map<std::string, std::string>& annotations) {
  for (const auto& [key, value] : annotations) {
    if (!key.starts_with("lastcall/")) std::abort();
  }
}

void check(const lastcall::k8s::NodeView& node) {
  if (node.why.empty() == (node.shutting_down || node.under_pressure)) std::abort();
  if (node.name.empty() || node.why.size() > 100) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lastcall::k8s;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const PaddedText text(input);
  const PodIdentity identity{.uid = "u",
                             .node_name = "n",
                             .addresses = {"10.0.0.1"},
                             .host_network = (size & 1) != 0,
                             .ports = {80}};
  const auto slice = parse_slice(text, identity);
  if (slice && slice.value().name.empty()) std::abort();
  const auto pod = parse_pod(text);
  if (pod && pod.value().grace_period > PodView::kGracePeriodMax) std::abort();
  if (pod) check(pod.value().annotations);
  const auto service = parse_service(text);
  if (service) (void)service.value().selects({{"a", "b"}});
  if (service) check(service.value().annotations);
  const auto endpoints = parse_endpoints(text, identity);
  if (endpoints && endpoints.value().name.empty()) std::abort();
  if (const auto node = parse_node(text)) check(node.value());
  (void)parse_access_review(text);
  const std::string body = access_review_body({"get", std::string(input), "pods", "", "ns", ""});
  if (parse_access_review(PaddedText(body))) std::abort();  // it asks and does not answer
  for (const char c : error_from_answer(500, {}, input).message) {
    if (c < ' ' || c > '~') std::abort();
  }
  (void)parse_rfc3339(input);
  (void)parse_http_date(input);
  return 0;
}
