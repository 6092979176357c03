#include "tests/fakes/selector.h"

#include <algorithm>

namespace lastcall::fakes {
namespace {

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

// Splits at commas outside of parentheses.
std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')') --depth;
    if (text[i] != ',' || depth != 0) continue;
    parts.push_back(text.substr(start, i - start));
    start = i + 1;
  }
  parts.push_back(text.substr(start));
  return parts;
}

bool is_key(std::string_view text) {
  return !text.empty() && text.find_first_of(" !<>()=") == std::string_view::npos;
}

}  // namespace

std::optional<Selector> Selector::parse(std::string_view text) {
  Selector selector;
  if (trim(text).empty()) return selector;
  for (const auto part : split(text)) {
    auto requirement = parse_one(trim(part));
    if (!requirement) return std::nullopt;
    selector.requirements_.push_back(std::move(*requirement));
  }
  return selector;
}

std::optional<Selector::Requirement> Selector::parse_one(std::string_view text) {
  Requirement requirement;
  if (const auto in = text.find(" in ("); in != std::string_view::npos && text.back() == ')') {
    requirement.key = trim(text.substr(0, in));
    const auto list = text.substr(in + 5);
    for (const auto value : split(list.substr(0, list.size() - 1))) {
      requirement.values.emplace_back(trim(value));
    }
  } else if (const auto equals = text.find('='); equals != std::string_view::npos) {
    requirement.key = trim(text.substr(0, equals));
    const auto rest = text.substr(equals + 1);
    requirement.values.emplace_back(trim(rest.starts_with('=') ? rest.substr(1) : rest));
  } else {
    requirement.key = text;
  }
  if (!is_key(requirement.key)) return std::nullopt;
  return requirement;
}

bool Selector::matches(const Labels& labels) const {
  return std::all_of(requirements_.begin(), requirements_.end(), [&](const Requirement& r) {
    const auto it = labels.find(r.key);
    if (it == labels.end()) return false;
    return r.values.empty() ||
           std::find(r.values.begin(), r.values.end(), it->second) != r.values.end();
  });
}

}  // namespace lastcall::fakes
