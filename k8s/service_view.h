// What a Service says about whom it sends to.
#pragma once

#include <map>
#include <string>

#include "k8s/padded_text.h"
#include "k8s/pod_view.h"
#include "net/result.h"

namespace lastcall::k8s {

struct ServiceView {
  std::string name{};
  Labels selector{};  // empty: no selector, its slices are somebody else's work
  std::map<std::string, std::string> annotations{};  // only those lastcall/..
  bool external_name = false;
  bool headless = false;
  bool publish_not_ready = false;
  bool local_only = false;  // externalTrafficPolicy or internalTrafficPolicy is Local

  // Whether the selector is there and matches all its labels.
  [[nodiscard]] bool selects(const Labels& labels) const;
};

// kInvalid: not JSON, not a Service, or a field of the wrong type, with the field named.
// "kind" may be absent: items of a list have none.
[[nodiscard]] net::Result<ServiceView> parse_service(const PaddedText& json);

}  // namespace lastcall::k8s
