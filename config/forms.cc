#include "config/forms.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <climits>
#include <cstddef>
#include <cstdint>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

namespace lastcall::config {
namespace {

constexpr std::string_view kUnixPrefix = "unix:";

bool is_lower_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

bool is_alphanumeric(char c) { return is_lower_or_digit(c) || (c >= 'A' && c <= 'Z'); }

bool is_dns_label(std::string_view text, std::size_t size_max) {
  return !text.empty() && text.size() <= size_max && text.front() != '-' && text.back() != '-' &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return is_lower_or_digit(c) || c == '-'; });
}

// Kubernetes bounds the whole of a subdomain, not its labels.
bool is_dns_subdomain(std::string_view text) {
  constexpr std::size_t kSizeMax = 253;
  if (text.size() > kSizeMax) return false;
  while (true) {
    const std::size_t dot = text.find('.');
    if (!is_dns_label(text.substr(0, dot), kSizeMax)) return false;
    if (dot == text.npos) return true;
    text.remove_prefix(dot + 1);
  }
}

struct IpAddress {
  int family = 0;
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
};

std::optional<IpAddress> parse_ip(std::string_view text) {
  const std::string terminated(text);
  if (terminated.find('\0') != std::string::npos) return std::nullopt;
  IpAddress address;
  for (const int family : {AF_INET, AF_INET6}) {
    address.family = family;
    if (inet_pton(family, terminated.c_str(), address.bytes.data()) == 1) return address;
  }
  return std::nullopt;
}

bool is_loopback(const IpAddress& address) {
  if (address.family == AF_INET) return address.bytes[0] == 127;
  return std::equal(address.bytes.begin(), address.bytes.end(),
                    std::begin(in6addr_loopback.s6_addr));
}

bool is_port(std::string_view text) {
  constexpr std::size_t kDigitsMax = 5;
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && text.size() <= kDigitsMax;
}

struct HostPort {
  std::string_view host;  // without the brackets
  bool bracketed = false;
  std::optional<std::string_view> port;
};

// "host", "host:port", "[v6]" or "[v6]:port"; nullopt when it can be none of these.
std::optional<HostPort> split_host_port(std::string_view text) {
  HostPort result;
  std::string_view rest;
  if (!text.empty() && text.front() == '[') {
    const std::size_t end = text.find(']');
    if (end == text.npos) return std::nullopt;
    result.bracketed = true;
    result.host = text.substr(1, end - 1);
    rest = text.substr(end + 1);
  } else {
    const std::size_t colon = std::min(text.find(':'), text.size());
    result.host = text.substr(0, colon);
    rest = text.substr(colon);
  }
  if (rest.empty()) return result;
  if (rest.front() != ':') return std::nullopt;
  result.port = rest.substr(1);
  return result;
}

// The address of "ip:port" or "[v6]:port".
std::optional<IpAddress> parse_listen(std::string_view text) {
  const std::optional<HostPort> parts = split_host_port(text);
  if (!parts || !parts->port || !is_port(*parts->port)) return std::nullopt;
  const std::optional<IpAddress> address = parse_ip(parts->host);
  if (!address || (address->family == AF_INET6) != parts->bracketed) return std::nullopt;
  return address;
}

bool is_absolute_path(std::string_view text, std::size_t size_max) {
  return !text.empty() && text.front() == '/' && text.size() <= size_max &&
         std::none_of(text.begin(), text.end(),
                      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

std::optional<std::string> text_if(bool valid, std::string_view text) {
  if (!valid) return std::nullopt;
  return std::string(text);
}

}  // namespace

std::optional<bool> BooleanForm::parse(std::string_view text) {
  if (text == "true") return true;
  if (text == "false") return false;
  return std::nullopt;
}

std::optional<LastEndpoint> LastEndpointForm::parse(std::string_view text) {
  for (const LastEndpoint value : {LastEndpoint::kWait, LastEndpoint::kIgnore}) {
    if (show(value) == text) return value;
  }
  return std::nullopt;
}

std::string LastEndpointForm::show(LastEndpoint value) {
  return value == LastEndpoint::kWait ? "wait" : "ignore";
}

std::optional<LogLevel> LogLevelForm::parse(std::string_view text) {
  for (const LogLevel value :
       {LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarn, LogLevel::kError}) {
    if (show(value) == text) return value;
  }
  return std::nullopt;
}

std::string LogLevelForm::show(LogLevel value) {
  switch (value) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarn:
      return "warn";
    case LogLevel::kError:
      break;
  }
  return "error";
}

std::optional<std::string> LabelForm::parse(std::string_view text) {
  return text_if(is_dns_label(text, 63), text);
}

std::optional<std::string> SubdomainForm::parse(std::string_view text) {
  return text_if(is_dns_subdomain(text), text);
}

std::optional<std::string> UidForm::parse(std::string_view text) {
  const bool valid =
      !text.empty() && text.size() <= 128 &&
      std::all_of(text.begin(), text.end(), [](char c) { return is_alphanumeric(c) || c == '-'; });
  return text_if(valid, text);
}

std::optional<std::string> IpForm::parse(std::string_view text) {
  const std::optional<IpAddress> address = parse_ip(text);
  if (!address) return std::nullopt;
  std::array<char, INET6_ADDRSTRLEN> spelled{};
  if (inet_ntop(address->family, address->bytes.data(), spelled.data(), spelled.size()) ==
      nullptr) {
    return std::nullopt;
  }
  return std::string(spelled.data());
}

std::optional<std::string> UrlForm::parse(std::string_view text) {
  std::string_view rest = text;
  for (const std::string_view scheme : {"https://", "http://"}) {
    if (!text.starts_with(scheme)) continue;
    rest.remove_prefix(scheme.size());
    const std::optional<HostPort> parts = split_host_port(rest);
    if (!parts || (parts->port && (!is_port(*parts->port) || *parts->port == "0"))) break;
    const std::optional<IpAddress> address = parse_ip(parts->host);
    if (parts->bracketed) return text_if(address && address->family == AF_INET6, text);
    return text_if(is_dns_subdomain(parts->host), text);
  }
  return std::nullopt;
}

std::optional<std::string> PathForm::parse(std::string_view text) {
  return text_if(is_absolute_path(text, PATH_MAX - 1), text);
}

std::optional<std::string> ListenForm::parse(std::string_view text) {
  return text_if(parse_listen(text).has_value(), text);
}

std::optional<std::string> LocalListenForm::parse(std::string_view text) {
  if (text.starts_with(kUnixPrefix)) {
    const std::string_view path = text.substr(kUnixPrefix.size());
    return text_if(is_absolute_path(path, sizeof(sockaddr_un::sun_path) - 1), text);
  }
  const std::optional<IpAddress> address = parse_listen(text);
  return text_if(address && is_loopback(*address), text);
}

}  // namespace lastcall::config
