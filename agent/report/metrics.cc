#include "agent/report/metrics.h"

#include <array>
#include <map>
#include <optional>
#include <utility>

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include "agent/report/process_figures.h"

namespace lastcall::report {
namespace {

using prometheus::BuildCounter;
using prometheus::BuildGauge;
using prometheus::BuildHistogram;
using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;
using prometheus::Labels;

constexpr std::array kPhases = {core::Phase::kServing, core::Phase::kHolding,
                                core::Phase::kDraining, core::Phase::kReleased};

// A gauge family whose members come and go with the state: filled anew at each scrape.
class StateGauge {
 public:
  StateGauge(prometheus::Registry& registry, const char* name, const char* help)
      : family_(BuildGauge().Name(name).Help(help).Register(registry)) {}

  void clear() {
    for (Gauge* gauge : members_) family_.Remove(gauge);
    members_.clear();
  }
  void set(const Labels& labels, double value) {
    Gauge& gauge = family_.Add(labels);
    gauge.Set(value);
    members_.push_back(&gauge);
  }

 private:
  Family<Gauge>& family_;
  std::vector<Gauge*> members_;
};

}  // namespace

class Metrics::Impl {
 public:
  explicit Impl(std::string_view version) {
    BuildGauge()
        .Name("lastcall_build_info")
        .Help("1, with the version of this agent.")
        .Register(registry_)
        .Add({{"version", std::string(version)}})
        .Set(1);
  }

  void count(const core::AnswerHook& answer) {
    hooks_answered_.Add({{"answer", std::string(core::to_string(answer.answer))}}).Increment();
  }
  void count(const core::ConsumerGone& gone) {
    consumers_gone_.Add({{"kind", gone.id.kind}, {"by", std::string(core::to_string(gone.by))}})
        .Increment();
  }
  void count(const core::ConsumerReturned& returned) {
    consumers_returned_.Add({{"kind", returned.id.kind}}).Increment();
  }
  template <class Other>
  void count(const Other&) {}

  void count_request(std::string_view verb, std::string_view resource, int status,
                     core::Duration first_byte) {
    const Labels labels{{"verb", std::string(verb)}, {"resource", std::string(resource)}};
    Labels with_code = labels;
    with_code["code"] = status == 0 ? "none" : std::to_string(status);
    requests_.Add(with_code).Increment();
    if (status != 0)
      request_seconds_.Add(labels, kLatencyBuckets).Observe(core::in_seconds(first_byte));
  }

  void count_watch_restart(std::string_view reason) {
    watch_restarts_.Add({{"reason", std::string(reason)}}).Increment();
  }

  void count_malformed_annotation(std::string_view kind, std::string_view key) {
    malformed_annotations_.Add({{"kind", std::string(kind)}, {"key", std::string(key)}})
        .Increment();
  }

  void set_services_ignored(std::size_t count) {
    services_ignored_.Set(static_cast<double>(count));
  }

  std::string render(const core::Snapshot& snapshot, core::Instant now) {
    render_budget(snapshot);
    render_phases(snapshot, now);
    render_consumers(snapshot);
    render_process();
    return prometheus::TextSerializer().Serialize(registry_.Collect());
  }

 private:
  void render_phases(const core::Snapshot& snapshot, core::Instant now) {
    phase_.clear();
    for (const core::Phase phase : kPhases) {
      phase_.set({{"phase", std::string(core::to_string(phase))}}, phase == snapshot.phase ? 1 : 0);
    }
    hooks_waiting_.Set(static_cast<double>(snapshot.hooks_waiting));
    hold_seconds_.clear();
    drain_seconds_.clear();
    deadline_.clear();
    outcome_.clear();
    if (snapshot.hold_started) {
      const auto end = snapshot.drain_started.value_or(snapshot.released.value_or(now));
      hold_seconds_.set({}, core::in_seconds(end - *snapshot.hold_started));
    }
    if (snapshot.drain_started) {
      drain_seconds_.set(
          {}, core::in_seconds(snapshot.released.value_or(now) - *snapshot.drain_started));
    }
    if (snapshot.deadline) {
      deadline_.set({{"proven", snapshot.deadline_proven ? "true" : "false"}},
                    core::in_seconds(*snapshot.deadline - now));
    }
    if (snapshot.phase == core::Phase::kReleased) {
      outcome_.set({{"hold_end", std::string(core::to_string(*snapshot.hold_end))},
                    {"drain_end", std::string(core::to_string(*snapshot.drain_end))}},
                   1);
    }
  }

  void render_budget(const core::Snapshot& snapshot) {
    grace_.clear();
    grace_needed_.clear();
    if (!snapshot.budget) return;
    grace_.set({}, core::in_seconds(snapshot.budget->grace));
    grace_needed_.set({}, core::in_seconds(snapshot.budget->grace_needed));
  }

  void render_consumers(const core::Snapshot& snapshot) {
    presence_.clear();
    withdrawal_.clear();
    gone_.clear();
    for (const core::ConsumerState& consumer : snapshot.consumers) {
      const Labels labels{{"kind", consumer.id.kind}, {"consumer", consumer.id.name}};
      Labels with_presence = labels;
      with_presence["presence"] = core::to_string(consumer.presence);
      presence_.set(with_presence, 1);
      if (consumer.withdrawn_at) {
        withdrawal_.set(labels, core::in_seconds(*consumer.withdrawn_at - *snapshot.hold_started));
      }
      gone_.set(labels, consumer.gone_at ? 1 : 0);
    }
  }

  void render_process() {
    const ProcessFigures figures = process_figures();
    cpu_seconds_.Increment(figures.cpu_seconds - cpu_seconds_.Value());
    resident_bytes_.Set(figures.resident_bytes);
    open_fds_.Set(figures.open_fds);
  }

  inline static const Histogram::BucketBoundaries kLatencyBuckets{0.005, 0.025, 0.1, 0.5,
                                                                  1,     5,     10,  30};

  prometheus::Registry registry_;
  StateGauge phase_{registry_, "lastcall_phase", "1 for the phase the stop of this pod is in."};
  Gauge& hooks_waiting_ = BuildGauge()
                              .Name("lastcall_hooks_waiting")
                              .Help("Hooks that wait for the release.")
                              .Register(registry_)
                              .Add({});
  StateGauge hold_seconds_{registry_, "lastcall_hold_seconds", "Length of the hold, so far."};
  StateGauge drain_seconds_{registry_, "lastcall_drain_seconds", "Length of the drain, so far."};
  StateGauge deadline_{registry_, "lastcall_deadline_seconds",
                       "Time until the kubelet sends SIGKILL; proven by a deletionTimestamp or "
                       "assumed from the grace period."};
  StateGauge outcome_{registry_, "lastcall_outcome",
                      "1 after the release, with what ended the hold and the drain."};
  StateGauge presence_{registry_, "lastcall_consumer_presence",
                       "1 for what was last seen of each consumer."};
  StateGauge withdrawal_{registry_, "lastcall_consumer_withdrawal_seconds",
                         "From the start of the hold to the consumer's withdrawal."};
  StateGauge gone_{registry_, "lastcall_consumer_gone",
                   "1 when the consumer counts as gone, 0 while it is waited for."};
  Family<Counter>& hooks_answered_ = BuildCounter()
                                         .Name("lastcall_hooks_answered_total")
                                         .Help("Hooks answered, by what they were told.")
                                         .Register(registry_);
  Family<Counter>& consumers_gone_ =
      BuildCounter()
          .Name("lastcall_consumers_gone_total")
          .Help(
              "Consumers that came to count as gone; by=\"blind\" means that they were never "
              "seen leaving.")
          .Register(registry_);
  Family<Counter>& consumers_returned_ =
      BuildCounter()
          .Name("lastcall_consumers_returned_total")
          .Help("Consumers that may choose this pod again after a withdrawal.")
          .Register(registry_);
  Family<Counter>& requests_ = BuildCounter()
                                   .Name("lastcall_api_requests_total")
                                   .Help(
                                       "Requests to the Kubernetes API; code=\"none\" means "
                                       "that no answer came.")
                                   .Register(registry_);
  Family<Histogram>& request_seconds_ = BuildHistogram()
                                            .Name("lastcall_api_request_seconds")
                                            .Help("Time to the head of the answer.")
                                            .Register(registry_);
  Family<Counter>& watch_restarts_ = BuildCounter()
                                         .Name("lastcall_watch_restarts_total")
                                         .Help("Watches begun anew, by reason.")
                                         .Register(registry_);
  StateGauge grace_{registry_, "lastcall_grace_period_seconds", "The pod's grace period."};
  StateGauge grace_needed_{registry_, "lastcall_grace_period_needed_seconds",
                           "The shortest grace period that all thresholds fit into."};
  Gauge& services_ignored_ = BuildGauge()
                                 .Name("lastcall_services_ignored")
                                 .Help("Services that an annotation says not to wait for.")
                                 .Register(registry_)
                                 .Add({});
  Family<Counter>& malformed_annotations_ =
      BuildCounter()
          .Name("lastcall_malformed_annotations_total")
          .Help("Annotations that could not be followed; what stands behind them decided.")
          .Register(registry_);
  Counter& cpu_seconds_ = BuildCounter()
                              .Name("process_cpu_seconds_total")
                              .Help("CPU time of this process.")
                              .Register(registry_)
                              .Add({});
  Gauge& resident_bytes_ = BuildGauge()
                               .Name("process_resident_memory_bytes")
                               .Help("Resident memory of this process.")
                               .Register(registry_)
                               .Add({});
  Gauge& open_fds_ = BuildGauge()
                         .Name("process_open_fds")
                         .Help("Open file descriptors of this process.")
                         .Register(registry_)
                         .Add({});
};

Metrics::Metrics(std::string_view version) : impl_(std::make_unique<Impl>(version)) {}
Metrics::~Metrics() = default;

void Metrics::count(const std::vector<core::Action>& actions) {
  for (const core::Action& action : actions) {
    std::visit([this](const auto& a) { impl_->count(a); }, action);
  }
}

void Metrics::count_request(std::string_view verb, std::string_view resource, int status,
                            core::Duration first_byte) {
  impl_->count_request(verb, resource, status, first_byte);
}

void Metrics::count_watch_restart(std::string_view reason) { impl_->count_watch_restart(reason); }

void Metrics::count_malformed_annotation(std::string_view kind, std::string_view key) {
  impl_->count_malformed_annotation(kind, key);
}

void Metrics::set_services_ignored(std::size_t count) { impl_->set_services_ignored(count); }

std::string Metrics::render(const core::Snapshot& snapshot, core::Instant now) {
  return impl_->render(snapshot, now);
}

}  // namespace lastcall::report
