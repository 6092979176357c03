#include "k8s/access_review.h"

#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "k8s/json_walk.h"

namespace lastcall::k8s {
namespace {

using Json = nlohmann::ordered_json;
using Key = JsonWalk::Key;
using Value = JsonWalk::Value;

class ReviewReader {
 public:
  net::Result<AccessAnswer> read(const PaddedText& json) {
    const bool fits = walk_.document(json, [this](Key key, Value value) {
      return top_field(key, value);
    }) && is_answer();
    if (!fits) return walk_.error("SelfSubjectAccessReview");
    if (answer_.reason.empty()) answer_.reason = std::move(evaluation_error_);
    return std::move(answer_);
  }

 private:
  bool top_field(Key key, Value value) {
    if (key == "kind") return walk_.string(value, "kind", kind_);
    if (key == "status") {
      return walk_.object(value, "status", [this](Key k, Value v) { return status_field(k, v); });
    }
    return true;
  }

  bool status_field(Key key, Value value) {
    if (key == "allowed") {
      has_answer_ = true;
      return walk_.boolean(value, "status.allowed", answer_.allowed);
    }
    if (key == "reason") return walk_.text(value, "status.reason", answer_.reason);
    if (key == "evaluationError") {
      return walk_.text(value, "status.evaluationError", evaluation_error_);
    }
    return true;
  }

  bool is_answer() {
    if (!kind_.empty() && kind_ != "SelfSubjectAccessReview") {
      return walk_.misfit("kind", "SelfSubjectAccessReview");
    }
    return has_answer_ || walk_.misfit("status.allowed", "there");
  }

  simdjson::ondemand::parser parser_;
  JsonWalk walk_{parser_};
  AccessAnswer answer_;
  std::string evaluation_error_;
  std::string_view kind_;
  bool has_answer_ = false;
};

}  // namespace

std::string access_review_body(const AccessRule& rule) {
  Json attributes = Json::object();
  const std::array<std::pair<const char*, const std::string&>, 6> fields{{
      {"namespace", rule.pod_namespace},
      {"verb", rule.verb},
      {"group", rule.group},
      {"resource", rule.resource},
      {"subresource", rule.subresource},
      {"name", rule.name},
  }};
  for (const auto& [field, value] : fields) {
    if (!value.empty()) attributes[field] = value;
  }
  const Json review{{"apiVersion", "authorization.k8s.io/v1"},
                    {"kind", "SelfSubjectAccessReview"},
                    {"spec", {{"resourceAttributes", std::move(attributes)}}}};
  return review.dump(-1, ' ', false, Json::error_handler_t::replace);
}

net::Result<AccessAnswer> parse_access_review(const PaddedText& json) {
  return ReviewReader().read(json);
}

}  // namespace lastcall::k8s
