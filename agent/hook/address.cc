#include "agent/hook/address.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <arpa/inet.h>
#include <netinet/in.h>

namespace lastcall::hook {
namespace {

constexpr std::string_view kUnixPrefix = "unix:";
constexpr std::size_t kPortDigitsMax = 5;

bool parse_unix(std::string_view path, Address& address) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (path.empty() || path.front() != '/' || path.size() >= sizeof(name.sun_path)) return false;
  std::memcpy(name.sun_path, path.data(), path.size());
  std::memcpy(&address.socket, &name, sizeof(name));
  address.size = sizeof(name);
  return true;
}

bool parse_ip(std::string_view host, std::uint16_t port, Address& address) {
  std::array<char, INET6_ADDRSTRLEN + 2> terminated{};
  if (host.size() >= terminated.size()) return false;
  const bool is_v6 = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (is_v6) host = host.substr(1, host.size() - 2);
  std::memcpy(terminated.data(), host.data(), host.size());
  if (is_v6) {
    sockaddr_in6 name{};
    name.sin6_family = AF_INET6;
    name.sin6_port = htons(port);
    if (inet_pton(AF_INET6, terminated.data(), &name.sin6_addr) != 1) return false;
    std::memcpy(&address.socket, &name, sizeof(name));
    address.size = sizeof(name);
    return true;
  }
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(port);
  if (inet_pton(AF_INET, terminated.data(), &name.sin_addr) != 1) return false;
  std::memcpy(&address.socket, &name, sizeof(name));
  address.size = sizeof(name);
  return true;
}

}  // namespace

std::optional<Address> parse_address(std::string_view text) {
  Address address;
  address.text = text;
  if (text.starts_with(kUnixPrefix)) {
    if (!parse_unix(text.substr(kUnixPrefix.size()), address)) return std::nullopt;
    return address;
  }
  const std::size_t colon = text.rfind(':');
  if (colon == text.npos || text.size() - colon - 1 > kPortDigitsMax) return std::nullopt;
  std::uint16_t port = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, port);
  if (error != std::errc() || stop != end || port == 0) return std::nullopt;
  if (!parse_ip(text.substr(0, colon), port, address)) return std::nullopt;
  return address;
}

}  // namespace lastcall::hook
