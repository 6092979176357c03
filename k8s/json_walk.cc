#include "k8s/json_walk.h"

#include <bit>
#include <cstddef>
#include <string>

namespace lastcall::k8s {

bool JsonWalk::begin(const PaddedText& text, simdjson::ondemand::object& root) {
  if (text.empty()) return broken(simdjson::EMPTY);
  // By doubling: simdjson grows to the exact size of each larger document.
  if (parser_.capacity() < text.size()) {
    if (const auto code = parser_.allocate(std::bit_ceil(text.size()), parser_.max_depth())) {
      return broken(code);
    }
  }
  const std::size_t bytes_readable = text.size() + simdjson::SIMDJSON_PADDING;
  if (const auto code = parser_.iterate(text.view(), bytes_readable).get(document_)) {
    return broken(code);
  }
  if (const auto code = document_.get_object().get(root)) return broken(code);
  return true;
}

bool JsonWalk::end() {
  const bool at_end = document_.current_location().error() == simdjson::OUT_OF_BOUNDS;
  return at_end || broken(simdjson::TRAILING_CONTENT);
}

bool JsonWalk::string(Value value, const char* field, std::string_view& out) {
  const std::string_view token = value.raw_json_token();
  if (!token.starts_with('"')) return is_null(value) || misfit(field, "a string");
  // White space up to the next token belongs to this one.
  const std::size_t end = token.ends_with('"') ? token.size() - 1 : token.rfind('"');
  if (end == 0) return misfit(field, "a string");
  const std::string_view text = token.substr(1, end - 1);
  if (text.find('\\') == std::string_view::npos) {
    out = text;
    return true;
  }
  return !value.get_string().get(out) || misfit(field, "a string");
}

bool JsonWalk::text(Value value, const char* field, std::string& out) {
  std::string_view found = out;
  if (!string(value, field, found)) return false;
  out = found;
  return true;
}

bool JsonWalk::boolean(Value value, const char* field, bool& out) {
  return !value.get_bool().get(out) || is_null(value) || misfit(field, "a boolean");
}

bool JsonWalk::integer(Value value, const char* field, std::int64_t& out) {
  return !value.get_int64().get(out) || is_null(value) || misfit(field, "an integer");
}

bool JsonWalk::misfit(const char* field, const char* wanted) {
  field_ = field;
  wanted_ = wanted;
  return false;
}

bool JsonWalk::broken(simdjson::error_code code) {
  code_ = code;
  return false;
}

net::Error JsonWalk::error(std::string_view what) const {
  std::string message(what);
  if (wanted_ != nullptr) {
    message += std::string(": ") + field_ + " is not " + wanted_;
  } else {
    message += std::string(": not JSON: ") + simdjson::error_message(code_);
  }
  return {net::ErrorCode::kInvalid, std::move(message), std::nullopt};
}

}  // namespace lastcall::k8s
