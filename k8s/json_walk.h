// Walks a document with simdjson's on-demand API and names the field that does not fit.
//
// Internal to k8s/: the only place that knows simdjson's rules. On-demand hands out values
// in the order of the text and validates what is looked at, hence the visitors: they see
// each field once, in any order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <simdjson.h>

#include "k8s/padded_text.h"
#include "net/result.h"

namespace lastcall::k8s {

// Every function answers false once something does not fit, and the first such misfit is
// kept. `field` is the path that error() names; null stands for an absent value everywhere.
class JsonWalk {
 public:
  using Key = simdjson::ondemand::raw_json_string;
  using Value = simdjson::ondemand::value;

  // `parser` must outlive the walk and serves one walk at a time.
  explicit JsonWalk(simdjson::ondemand::parser& parser) : parser_(parser) {}

  // Calls visit(Key, Value) -> bool for each field of the outermost object. Compare keys
  // with literals shorter than the padding. Strings stay valid as long as `text` and the
  // parser's next document.
  template <class Visit>
  bool document(const PaddedText& text, Visit visit);
  template <class Visit>
  bool object(Value value, const char* field, Visit visit);
  // Calls visit(Value) -> bool for each element.
  template <class Visit>
  bool array(Value value, const char* field, Visit visit);

  // These leave `out` alone when the value is null.
  bool string(Value value, const char* field, std::string_view& out);
  // As string(), for what must outlive the walk.
  bool text(Value value, const char* field, std::string& out);
  bool boolean(Value value, const char* field, bool& out);
  bool integer(Value value, const char* field, std::int64_t& out);

  // As object(), with the object's own text in `raw`.
  template <class Visit>
  bool raw_object(Value value, const char* field, std::string_view& raw, Visit visit);
  // An object of strings; calls visit(key, text) for each; null reads as "".
  template <class Visit>
  bool strings(Value value, const char* field, Visit visit);

  bool misfit(const char* field, const char* wanted);
  // Requires: something answered false.
  [[nodiscard]] net::Error error(std::string_view what) const;

 private:
  bool begin(const PaddedText& text, simdjson::ondemand::object& root);
  bool end();
  bool broken(simdjson::error_code code);
  static bool is_null(Value& value) {
    const std::string_view token = value.raw_json_token();
    return token.starts_with('n') && !value.is_null().error();
  }
  template <class Visit>
  bool each_field(simdjson::ondemand::object& object, Visit& visit);

  simdjson::ondemand::parser& parser_;
  simdjson::ondemand::document document_;
  const char* field_ = "";
  const char* wanted_ = nullptr;
  simdjson::error_code code_ = simdjson::SUCCESS;
};

template <class Visit>
bool JsonWalk::each_field(simdjson::ondemand::object& object, Visit& visit) {
  for (auto result : object) {
    simdjson::ondemand::field field;
    if (const auto code = std::move(result).get(field)) return broken(code);
    if (!visit(field.key(), field.value())) return false;
  }
  return true;
}

template <class Visit>
bool JsonWalk::document(const PaddedText& text, Visit visit) {
  simdjson::ondemand::object root;
  return begin(text, root) && each_field(root, visit) && end();
}

template <class Visit>
bool JsonWalk::object(Value value, const char* field, Visit visit) {
  simdjson::ondemand::object object;
  if (value.get_object().get(object)) return is_null(value) || misfit(field, "an object");
  return each_field(object, visit);
}

template <class Visit>
bool JsonWalk::array(Value value, const char* field, Visit visit) {
  simdjson::ondemand::array array;
  if (value.get_array().get(array)) return is_null(value) || misfit(field, "an array");
  for (auto result : array) {
    Value element;
    if (const auto code = std::move(result).get(element)) return broken(code);
    if (!visit(element)) return false;
  }
  return true;
}

template <class Visit>
bool JsonWalk::strings(Value value, const char* field, Visit visit) {
  simdjson::ondemand::object object;
  if (value.get_object().get(object)) return is_null(value) || misfit(field, "an object");
  for (auto result : object) {
    std::string_view key;
    std::string_view text;
    simdjson::ondemand::field entry;
    if (const auto code = std::move(result).get(entry)) return broken(code);
    if (const auto code = entry.unescaped_key().get(key)) return broken(code);
    if (!string(entry.value(), field, text)) return false;
    visit(key, text);
  }
  return true;
}

template <class Visit>
bool JsonWalk::raw_object(Value value, const char* field, std::string_view& raw, Visit visit) {
  simdjson::ondemand::object object;
  if (value.get_object().get(object)) return misfit(field, "an object");
  if (const auto code = object.raw_json().get(raw)) return broken(code);
  if (const auto code = object.reset().error()) return broken(code);
  return each_field(object, visit);
}

}  // namespace lastcall::k8s
