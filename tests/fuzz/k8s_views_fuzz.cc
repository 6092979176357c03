// The typed views and the texts inside them, on anything.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "k8s/api_client.h"
#include "k8s/pod_view.h"
#include "k8s/service_view.h"
#include "k8s/slice_view.h"
#include "k8s/time.h"

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
  const auto service = parse_service(text);
  if (service) (void)service.value().selects({{"a", "b"}});
  for (const char c : error_from_answer(500, {}, input).message) {
    if (c < ' ' || c > '~') std::abort();
  }
  (void)parse_rfc3339(input);
  (void)parse_http_date(input);
  return 0;
}
