// Which thresholds hold for whom: a Service's annotations go before the Pod's, and those before
// the settings (DESIGN 2).
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "agent/core/drain.h"
#include "agent/report/log.h"
#include "config/annotations.h"
#include "k8s/pod_view.h"
#include "k8s/service_view.h"

namespace lastcall::observe {

// A malformed annotation never stops anything: it is warned about when it first shows, counted,
// and what stands behind it decides.
class Tuning {
 public:
  // One annotation that cannot be followed.
  struct Complaint {
    std::string_view kind;  // "service" or "pod"
    std::string object;     // "Service shop/checkout"
    config::AnnotationError error;
  };

  // Cluster DNS answers are kept this long by default (kubeadm's Corefile: ttl 30): clients of a
  // headless Service go on with an address that has left its slices.
  static constexpr std::chrono::seconds kDnsCaches{30};

  // `log` must outlive this object. `settings`: what the file, the environment and the built-in
  // defaults say.
  Tuning(report::Log& log, std::string pod_namespace, core::Thresholds settings);

  // Reads the Pod's annotations. Returns whether anything has changed by them.
  bool read(const k8s::PodView& pod);
  // The same of a Service.
  void read(const k8s::ServiceView& service);
  // It is a Service of ours no longer.
  void forget(const std::string& service);

  // Of the pod as a whole.
  [[nodiscard]] const core::Thresholds& pod() const { return pod_; }
  // Of a Service that was read.
  [[nodiscard]] core::Thresholds service(const k8s::ServiceView& service) const;
  // Why the Service is not waited for; empty: it is.
  [[nodiscard]] std::string_view why_ignored(const std::string& service) const;

  // What cannot be followed now.
  [[nodiscard]] std::vector<Complaint> complaints() const;
  // At most one listener, called with each that is warned about; for metrics.
  void on_complaint(std::function<void(const Complaint&)> listener);

 private:
  struct Source {
    std::string_view kind;
    std::string object;
    config::ReadAnnotations read;
  };
  void keep(Source& source, config::ReadAnnotations read);

  report::Log& log_;
  std::string namespace_;
  core::Thresholds settings_;
  core::Thresholds pod_;
  Source pod_source_;
  std::map<std::string, Source> services_;
  std::function<void(const Complaint&)> listener_;
};

}  // namespace lastcall::observe
