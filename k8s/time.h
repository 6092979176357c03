// The two forms of time the API speaks.
#pragma once

#include <optional>
#include <string_view>

#include "net/loop.h"

namespace lastcall::k8s {

// metav1.Time and MicroTime: "2026-01-02T03:04:05Z", also with fractions and offsets.
[[nodiscard]] std::optional<net::WallTime> parse_rfc3339(std::string_view text);

// The Date header: "Fri, 02 Jan 2026 03:04:05 GMT" (IMF-fixdate only, as Go sends it).
[[nodiscard]] std::optional<net::WallTime> parse_http_date(std::string_view text);

}  // namespace lastcall::k8s
