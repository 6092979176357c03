// Durations as operators write them: "300ms", "5s", "2m", "1h", and sums such as "1m30s".
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace lastcall::config {

using Milliseconds = std::chrono::milliseconds;

// The longest duration that can be meant: a day. Anything beyond is a mistyped unit.
inline constexpr Milliseconds kDurationMax = std::chrono::hours(24);

// What parse_duration accepts, for error messages.
inline constexpr std::string_view kDurationForm =
    "a duration between 0 and 24h such as 300ms, 5s or 2m";

// nullopt for anything else: no unit ("5"), a sign, a fraction, white space, over 24 h.
// A bare "0" is allowed: it means the same in every unit.
[[nodiscard]] std::optional<Milliseconds> parse_duration(std::string_view text);

// The shortest text that parses to the same duration.
[[nodiscard]] std::string format_duration(Milliseconds duration);

}  // namespace lastcall::config
