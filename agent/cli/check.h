// `lastcall check`: what the agent would observe for a pod, with which thresholds, and what keeps
// it from that. Looks with the agent's own observers, begins no hold and changes nothing.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/core/drain.h"
#include "config/settings.h"
#include "k8s/access_review.h"
#include "net/http_client.h"
#include "net/loop.h"

namespace lastcall::agent {

enum class Severity {
  kNote,     // good to know
  kWarning,  // the agent works, but worse than it could
  kFatal,    // it cannot work
};

struct CheckFinding {
  Severity severity;
  std::string text;
};

struct CheckedConsumer {
  core::ConsumerId id;
  core::Thresholds thresholds;
  std::optional<core::Presence> presence;  // now; nullopt: not seen in time
  std::string detail;
};

// One thing the agent asks of the API server.
struct Permission {
  k8s::AccessRule rule;
  std::string purpose;
  Severity when_missing;
  std::optional<bool> allowed = std::nullopt;  // nullopt: nobody could say
  std::string reason{};                        // in the server's words
};

struct CheckResult {
  std::string pod;     // "shop/checkout-1"
  std::string server;  // "https://10.96.0.1:443"
  std::vector<CheckedConsumer> consumers;
  std::vector<Permission> permissions;
  core::Policy policy;
  std::optional<core::Budget> budget;
  std::vector<CheckFinding> findings;  // the worst first
};

class Check {
 public:
  // All must outlive this object. Requires: settings.kubernetes_server names the API server.
  Check(const config::Settings& settings, net::Loop& loop, net::HttpClient& http);
  ~Check();

  // Calls `done` once, `patience` from now at the latest; with what was found by then.
  void start(std::chrono::milliseconds patience, std::function<void(CheckResult)> done);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// 0 nothing worse than a note, 1 warnings, 2 it cannot work.
[[nodiscard]] int exit_code(const CheckResult& result);

// The rule that a Role lacks, as one line of YAML.
[[nodiscard]] std::string rule_text(const k8s::AccessRule& rule);

// For people.
[[nodiscard]] std::string check_table(const CheckResult& result);
// For programs: the same as one JSON object.
[[nodiscard]] std::string check_json(const CheckResult& result);

}  // namespace lastcall::agent
