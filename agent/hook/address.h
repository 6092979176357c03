// Where the agent listens: a literal address, so that no resolver is linked in.
#pragma once

#include <optional>
#include <string_view>

#include <sys/socket.h>
#include <sys/un.h>

namespace lastcall::hook {

struct Address {
  std::string_view text;  // as it was given
  sockaddr_storage socket{};
  socklen_t size = 0;
};

// "127.0.0.1:19101", "[::1]:19101" or "unix:/absolute/path". The result refers to `text`.
[[nodiscard]] std::optional<Address> parse_address(std::string_view text);

}  // namespace lastcall::hook
