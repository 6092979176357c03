#include "k8s/node_view.h"

#include <utility>

#include "k8s/json_walk.h"

namespace lastcall::k8s {
namespace {

using Key = JsonWalk::Key;
using Value = JsonWalk::Value;

constexpr std::string_view kShuttingDown = "node is shutting down";

struct Condition {
  std::string_view type;
  std::string_view status;
  std::string_view message;
};

bool is_pressure(std::string_view type) {
  return type == "MemoryPressure" || type == "DiskPressure" || type == "PIDPressure";
}

class NodeReader {
 public:
  net::Result<NodeView> read(const PaddedText& json) {
    const bool fits = walk_.document(json, [this](Key key, Value value) {
      return top_field(key, value);
    }) && is_node();
    if (!fits) return walk_.error("Node");
    return std::move(view_);
  }

 private:
  bool top_field(Key key, Value value) {
    if (key == "kind") return walk_.string(value, "kind", kind_);
    if (key == "metadata") {
      return walk_.object(value, "metadata", [this](Key k, Value v) {
        return k != "name" || walk_.text(v, "metadata.name", view_.name);
      });
    }
    if (key == "status") {
      return walk_.object(value, "status", [this](Key k, Value v) { return status_field(k, v); });
    }
    return true;
  }

  bool status_field(Key key, Value value) {
    if (key != "conditions") return true;
    return walk_.array(value, "status.conditions", [this](Value entry) {
      Condition condition;
      const auto field = [&](Key k, Value v) { return condition_field(k, v, condition); };
      if (!walk_.object(entry, "status.conditions[]", field)) return false;
      judge(condition);
      return true;
    });
  }

  bool condition_field(Key key, Value value, Condition& condition) {
    if (key == "type") return walk_.string(value, "status.conditions[].type", condition.type);
    if (key == "status") return walk_.string(value, "status.conditions[].status", condition.status);
    if (key == "message") {
      return walk_.string(value, "status.conditions[].message", condition.message);
    }
    return true;
  }

  void judge(const Condition& condition) {
    if (condition.type == "Ready" && condition.status != "True" &&
        condition.message.find(kShuttingDown) != std::string_view::npos) {
      view_.shutting_down = true;
      add_reason("Ready (node is shutting down)");
    }
    if (is_pressure(condition.type) && condition.status == "True") {
      view_.under_pressure = true;
      add_reason(condition.type);
    }
  }

  // A real Node has each condition once.
  void add_reason(std::string_view reason) {
    if (view_.why.find(reason) != std::string::npos) return;
    if (!view_.why.empty()) view_.why += ", ";
    view_.why += reason;
  }

  bool is_node() {
    if (!kind_.empty() && kind_ != "Node") return walk_.misfit("kind", "Node");
    return !view_.name.empty() || walk_.misfit("metadata.name", "there");
  }

  simdjson::ondemand::parser parser_;
  JsonWalk walk_{parser_};
  NodeView view_;
  std::string_view kind_;
};

}  // namespace

net::Result<NodeView> parse_node(const PaddedText& json) { return NodeReader().read(json); }

}  // namespace lastcall::k8s
