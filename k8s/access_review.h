// Asking the API server whether we may do something, without doing it.
// Source: authorization.k8s.io/v1 SelfSubjectAccessReview, FACTS 1.4.
#pragma once

#include <string>
#include <string_view>

#include "k8s/padded_text.h"
#include "net/result.h"

namespace lastcall::k8s {

// Where a review is POSTed to. Every authenticated user may by default; the answer is 201.
inline constexpr std::string_view kAccessReviewPath =
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

struct AccessRule {
  std::string verb;           // "list"
  std::string group;          // "discovery.k8s.io"; empty: the core group
  std::string resource;       // "endpointslices"
  std::string subresource;    // empty: none
  std::string pod_namespace;  // empty: cluster-wide
  std::string name;           // empty: every object
};

// The body that asks about `rule`.
[[nodiscard]] std::string access_review_body(const AccessRule& rule);

struct AccessAnswer {
  bool allowed = false;
  std::string reason;  // in the authorizer's words; what went wrong when it could not say
};

// kInvalid: not JSON, not a SelfSubjectAccessReview, no answer in it, or a field of the wrong
// type, with the field named.
[[nodiscard]] net::Result<AccessAnswer> parse_access_review(const PaddedText& json);

}  // namespace lastcall::k8s
