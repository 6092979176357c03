// What Prometheus scrapes: docs/metrics.md lists it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agent/core/drain.h"

namespace lastcall::report {

// State is read at each scrape; only what a snapshot cannot tell is counted in between.
class Metrics {
 public:
  explicit Metrics(std::string_view version);
  ~Metrics();

  void count(const std::vector<core::Action>& actions);
  // `status` is the HTTP status, or 0 when there was no answer.
  void count_request(std::string_view verb, std::string_view resource, int status,
                     core::Duration first_byte);
  void count_watch_restart(std::string_view reason);
  // `kind` of object: "pod" or "service".
  void count_malformed_annotation(std::string_view kind, std::string_view key);
  void set_services_ignored(std::size_t count);

  // The text format, version 0.0.4.
  [[nodiscard]] std::string render(const core::Snapshot& snapshot, core::Instant now);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lastcall::report
