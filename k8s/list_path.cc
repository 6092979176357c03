#include "k8s/list_path.h"

namespace lastcall::k8s {
namespace {

bool is_unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("-._~").find(c) != std::string_view::npos;
}

// Appends "name=value" percent-encoded (RFC 3986), unless the value is empty.
void add_parameter(std::string& path, std::string_view name, std::string_view value) {
  static constexpr std::string_view kDigits = "0123456789ABCDEF";
  if (value.empty()) return;
  path += path.find('?') == std::string::npos ? '?' : '&';
  path += name;
  path += '=';
  for (const char c : value) {
    if (is_unreserved(c)) {
      path += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    path += '%';
    path += kDigits[byte >> 4];
    path += kDigits[byte & 0xF];
  }
}

void add_selectors(std::string& path, const ListRequest& request) {
  add_parameter(path, "labelSelector", request.label_selector);
  add_parameter(path, "fieldSelector", request.field_selector);
}

}  // namespace

std::string list_path(const ListRequest& request, std::string_view continue_token) {
  std::string path = request.path;
  add_parameter(path, "limit", std::to_string(request.page_limit));
  add_selectors(path, request);
  add_parameter(path, "continue", continue_token);
  return path;
}

std::string watch_path(const ListRequest& request, std::string_view resource_version) {
  std::string path = request.path;
  add_parameter(path, "watch", "true");
  add_parameter(path, "allowWatchBookmarks", "true");
  add_parameter(path, "resourceVersion", resource_version);
  add_selectors(path, request);
  return path;
}

}  // namespace lastcall::k8s
