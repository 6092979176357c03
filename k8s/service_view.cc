#include "k8s/service_view.h"

#include <algorithm>
#include <utility>

#include "k8s/json_walk.h"
#include "k8s/our_annotations.h"

namespace lastcall::k8s {
namespace {

using Key = JsonWalk::Key;
using Value = JsonWalk::Value;

class ServiceReader {
 public:
  net::Result<ServiceView> read(const PaddedText& json) {
    const bool fits = walk_.document(json, [this](Key key, Value value) {
      return top_field(key, value);
    }) && is_service();
    if (!fits) return walk_.error("Service");
    return std::move(view_);
  }

 private:
  bool top_field(Key key, Value value) {
    if (key == "kind") return walk_.string(value, "kind", kind_);
    if (key == "metadata") {
      return walk_.object(value, "metadata",
                          [this](Key k, Value v) { return metadata_field(k, v); });
    }
    if (key == "spec") {
      return walk_.object(value, "spec", [this](Key k, Value v) { return spec_field(k, v); });
    }
    return true;
  }

  bool metadata_field(Key key, Value value) {
    if (key == "name") return walk_.text(value, "metadata.name", view_.name);
    if (key == "annotations") return read_our_annotations(walk_, value, view_.annotations);
    return true;
  }

  bool spec_field(Key key, Value value) {
    if (key == "selector") {
      return walk_.strings(value, "spec.selector",
                           [this](std::string_view name, std::string_view label) {
                             view_.selector.insert_or_assign(std::string(name), label);
                           });
    }
    if (key == "type") return equals(value, "spec.type", "ExternalName", view_.external_name);
    if (key == "clusterIP") return equals(value, "spec.clusterIP", "None", view_.headless);
    if (key == "publishNotReadyAddresses") {
      return walk_.boolean(value, "spec.publishNotReadyAddresses", view_.publish_not_ready);
    }
    if (key == "externalTrafficPolicy") {
      return equals(value, "spec.externalTrafficPolicy", "Local", view_.local_only);
    }
    if (key == "internalTrafficPolicy") {
      return equals(value, "spec.internalTrafficPolicy", "Local", view_.local_only);
    }
    return true;
  }

  // Sets `flag` when the string is `wanted`, and leaves it otherwise.
  bool equals(Value value, const char* field, std::string_view wanted, bool& flag) {
    std::string_view text;
    if (!walk_.string(value, field, text)) return false;
    flag |= text == wanted;
    return true;
  }

  bool is_service() {
    if (!kind_.empty() && kind_ != "Service") return walk_.misfit("kind", "Service");
    return !view_.name.empty() || walk_.misfit("metadata.name", "there");
  }

  simdjson::ondemand::parser parser_;
  JsonWalk walk_{parser_};
  ServiceView view_;
  std::string_view kind_;
};

}  // namespace

bool ServiceView::selects(const Labels& labels) const {
  const auto has = [&](const auto& wanted) {
    const auto found = labels.find(wanted.first);
    return found != labels.end() && found->second == wanted.second;
  };
  return !selector.empty() && std::all_of(selector.begin(), selector.end(), has);
}

net::Result<ServiceView> parse_service(const PaddedText& json) {
  return ServiceReader().read(json);
}

}  // namespace lastcall::k8s
