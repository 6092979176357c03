#include "agent/observe/tuning.h"

#include <algorithm>
#include <utility>

namespace lastcall::observe {
namespace {

core::LastEndpoint last_endpoint(config::LastEndpoint said) {
  return said == config::LastEndpoint::kIgnore ? core::LastEndpoint::kIgnore
                                               : core::LastEndpoint::kWait;
}

// `said` goes before what stands in `thresholds`.
core::Thresholds over(core::Thresholds thresholds, const config::Annotations& said,
                      core::Source source) {
  const auto put = [source](auto& threshold, const auto& value) {
    if (value) threshold = {*value, source};
  };
  put(thresholds.settle, said.settle);
  put(thresholds.quiet, said.quiet);
  put(thresholds.blind, said.blind);
  put(thresholds.hold_min, said.hold_min);
  put(thresholds.hold_max, said.hold_max);
  put(thresholds.reserve, said.reserve);
  put(thresholds.drain_max, said.drain_max);
  if (said.last_endpoint) thresholds.last_endpoint = {last_endpoint(*said.last_endpoint), source};
  return thresholds;
}

}  // namespace

Tuning::Tuning(report::Log& log, std::string pod_namespace, core::Thresholds settings)
    : log_(log), namespace_(std::move(pod_namespace)), settings_(settings), pod_(settings) {}

bool Tuning::read(const k8s::PodView& pod) {
  pod_source_.kind = "pod";
  pod_source_.object = "Pod " + namespace_ + "/" + pod.name;
  const config::Annotations before = pod_source_.read.said;
  keep(pod_source_, config::read_annotations(pod.annotations));
  if (pod_source_.read.said == before) return false;
  pod_ = over(settings_, pod_source_.read.said, core::Source::kPodAnnotation);
  return true;
}

void Tuning::read(const k8s::ServiceView& service) {
  Source& source = services_[service.name];
  source.kind = "service";
  source.object = "Service " + namespace_ + "/" + service.name;
  keep(source, config::read_annotations(service.annotations));
}

void Tuning::forget(const std::string& service) { services_.erase(service); }

core::Thresholds Tuning::service(const k8s::ServiceView& service) const {
  core::Thresholds thresholds = pod_;
  const auto found = services_.find(service.name);
  if (found != services_.end()) {
    thresholds = over(pod_, found->second.read.said, core::Source::kServiceAnnotation);
  }
  core::Duration& settle = thresholds.settle.value;
  if (service.headless && thresholds.settle.source == core::Source::kDefault) {
    settle = std::max<core::Duration>(settle, kDnsCaches);
  }
  // Its withdrawal is never published: terminating, plus what a careful operator would sleep.
  if (service.publish_not_ready) settle = std::max(settle, thresholds.blind.value);
  return thresholds;
}

std::string_view Tuning::why_ignored(const std::string& service) const {
  const auto found = services_.find(service);
  if (found != services_.end() && found->second.read.said.ignore) {
    return *found->second.read.said.ignore ? "annotation lastcall/ignore of the Service" : "";
  }
  return pod_source_.read.said.ignore.value_or(false) ? "annotation lastcall/ignore of the Pod"
                                                      : "";
}

std::vector<Tuning::Complaint> Tuning::complaints() const {
  std::vector<Complaint> complaints;
  const auto add = [&complaints](const Source& source) {
    for (const config::AnnotationError& error : source.read.errors) {
      complaints.push_back({source.kind, source.object, error});
    }
  };
  add(pod_source_);
  for (const auto& [name, source] : services_) add(source);
  return complaints;
}

void Tuning::on_complaint(std::function<void(const Complaint&)> listener) {
  listener_ = std::move(listener);
}

void Tuning::keep(Source& source, config::ReadAnnotations read) {
  for (const config::AnnotationError& error : read.errors) {
    const auto& known = source.read.errors;
    if (std::find(known.begin(), known.end(), error) != known.end()) continue;
    log_.write(report::Level::kWarn, "annotation-malformed",
               {{"object", source.object},
                {"key", error.key},
                {"value", error.value},
                {"error", error.message}});
    if (listener_) listener_({source.kind, source.object, error});
  }
  source.read = std::move(read);
}

}  // namespace lastcall::observe
