// The forms a value can have. Each says what it is called in the documentation, what an error
// says was expected, how text becomes a value, and how a value is shown.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/settings.h"

namespace lastcall::config {

struct DurationForm {
  static constexpr std::string_view kName = "duration";
  static constexpr std::string_view kExpected = kDurationForm;
  static std::optional<Milliseconds> parse(std::string_view text) { return parse_duration(text); }
  static std::string show(Milliseconds value) { return format_duration(value); }
};

struct BooleanForm {
  static constexpr std::string_view kName = "true or false";
  static constexpr std::string_view kExpected = kName;
  static std::optional<bool> parse(std::string_view text);
  static std::string show(bool value) { return value ? "true" : "false"; }
};

struct LastEndpointForm {
  static constexpr std::string_view kName = "wait or ignore";
  static constexpr std::string_view kExpected = kName;
  static std::optional<LastEndpoint> parse(std::string_view text);
  static std::string show(LastEndpoint value);
};

struct LogLevelForm {
  static constexpr std::string_view kName = "debug, info, warn or error";
  static constexpr std::string_view kExpected = kName;
  static std::optional<LogLevel> parse(std::string_view text);
  static std::string show(LogLevel value);
};

struct TextForm {
  static std::string show(const std::string& value) { return value; }
};

// A DNS label: what a namespace is called.
struct LabelForm : TextForm {
  static constexpr std::string_view kName = "name";
  static constexpr std::string_view kExpected =
      "at most 63 lower-case letters, digits and inner hyphens";
  static std::optional<std::string> parse(std::string_view text);
};

// DNS labels with dots between them: what pods and nodes are called.
struct SubdomainForm : TextForm {
  static constexpr std::string_view kName = "name";
  static constexpr std::string_view kExpected =
      "at most 253 lower-case letters, digits and inner hyphens and dots";
  static std::optional<std::string> parse(std::string_view text);
};

// UIDs are opaque; those of static pods are not UUIDs.
struct UidForm : TextForm {
  static constexpr std::string_view kName = "UID";
  static constexpr std::string_view kExpected = "at most 128 letters, digits and hyphens";
  static std::optional<std::string> parse(std::string_view text);
};

// The result is in the one spelling that Kubernetes uses, so that it can be compared as text.
struct IpForm : TextForm {
  static constexpr std::string_view kName = "list of IP addresses";
  static constexpr std::string_view kExpected = "an IP address such as 10.0.0.7 or fd00::7";
  static std::optional<std::string> parse(std::string_view text);
};

struct UrlForm : TextForm {
  static constexpr std::string_view kName = "URL";
  static constexpr std::string_view kExpected =
      "http:// or https://, a host and perhaps a port, such as https://10.0.0.1:6443";
  static std::optional<std::string> parse(std::string_view text);
};

struct PathForm : TextForm {
  static constexpr std::string_view kName = "absolute path";
  static constexpr std::string_view kExpected = "an absolute path";
  static std::optional<std::string> parse(std::string_view text);
};

struct ListenForm : TextForm {
  static constexpr std::string_view kName = "IP:port";
  static constexpr std::string_view kExpected =
      "an IP address and a port such as 0.0.0.0:19100 or [::]:19100";
  static std::optional<std::string> parse(std::string_view text);
};

// Nothing reachable from the network may start, shorten or end a hold.
struct LocalListenForm : TextForm {
  static constexpr std::string_view kName = "loopback IP:port or unix:/path";
  static constexpr std::string_view kExpected =
      "a loopback address such as 127.0.0.1:19101 or [::1]:19101, or unix:/absolute/path of at "
      "most 107 bytes";
  static std::optional<std::string> parse(std::string_view text);
};

}  // namespace lastcall::config
