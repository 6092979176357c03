#include "agent/report/decisions.h"

#include <cmath>
#include <optional>
#include <string>

namespace lastcall::report {
namespace {

class Writer {
 public:
  Writer(Log& log, const core::Snapshot& snapshot, core::Instant now)
      : log_(log), snapshot_(snapshot), now_(now) {}

  void operator()(const core::PhaseEntered& entered) {
    Log::Fields fields{{"phase", core::to_string(entered.phase)}};
    switch (entered.phase) {
      case core::Phase::kServing:
        break;
      case core::Phase::kHolding:
        add_hold_start(fields);
        break;
      case core::Phase::kDraining:
        add_hold_end(fields);
        break;
      case core::Phase::kReleased:
        add_outcome(fields);
        break;
    }
    log_.write(hurried() ? Level::kWarn : Level::kInfo, "phase", fields);
  }

  void operator()(const core::PresenceChanged& change) {
    log_.write(Level::kInfo, "presence",
               {{"kind", change.id.kind},
                {"consumer", change.id.name},
                {"from", core::to_string(change.from)},
                {"to", core::to_string(change.to)},
                {"why", change.detail},
                {"hold_seconds", since(snapshot_.hold_started)}});
  }

  void operator()(const core::ConsumerGone& gone) {
    const bool unseen = gone.by == core::GoneBy::kBlind;
    log_.write(unseen ? Level::kWarn : Level::kInfo, "consumer-gone",
               {{"kind", gone.id.kind},
                {"consumer", gone.id.name},
                {"by", core::to_string(gone.by)},
                {"hold_seconds", since(snapshot_.hold_started)}});
  }

  void operator()(const core::ConsumerReturned& returned) {
    log_.write(Level::kInfo, "consumer-returned",
               {{"kind", returned.id.kind}, {"consumer", returned.id.name}});
  }

  void operator()(const core::AnswerHook& answer) {
    const bool unsure = answer.answer == core::Answer::kUnverified;
    log_.write(unsure ? Level::kWarn : Level::kInfo, "hook-answered",
               {{"hook", static_cast<std::int64_t>(answer.id)},
                {"answer", core::to_string(answer.answer)}});
  }

  void operator()(const core::AskPod&) {}
  void operator()(const core::BeginObserving&) {}
  void operator()(const core::EndObserving&) {}
  void operator()(const core::DrainProxy&) {}

 private:
  void add_hold_start(Log::Fields& fields) const {
    fields.emplace_back("trigger", core::to_string(*snapshot_.trigger));
    fields.emplace_back("deadline_seconds", core::in_seconds(*snapshot_.deadline - now_));
    fields.emplace_back("deadline_proven", snapshot_.deadline_proven);
  }

  void add_hold_end(Log::Fields& fields) {
    if (snapshot_.hold_end) fields.emplace_back("hold_end", core::to_string(*snapshot_.hold_end));
    fields.emplace_back("hold_seconds", since(snapshot_.hold_started));
    still_there_.clear();
    for (const core::ConsumerId& id : snapshot_.still_there) {
      still_there_ += (still_there_.empty() ? "" : ", ") + id.kind + " " + id.name;
    }
    if (!still_there_.empty()) fields.emplace_back("still_there", still_there_);
  }

  void add_outcome(Log::Fields& fields) {
    add_hold_end(fields);
    fields.emplace_back("drain_end", core::to_string(*snapshot_.drain_end));
    fields.emplace_back("drain_seconds", since(snapshot_.drain_started));
  }

  // Whether a limit, and not the evidence, ended the hold.
  [[nodiscard]] bool hurried() const {
    return snapshot_.hold_end && *snapshot_.hold_end != core::HoldEnd::kAllGone &&
           *snapshot_.hold_end != core::HoldEnd::kPodLives;
  }

  [[nodiscard]] double since(std::optional<core::Instant> start) const {
    return start ? core::in_seconds(now_ - *start) : 0;
  }

  Log& log_;
  const core::Snapshot& snapshot_;
  core::Instant now_;
  std::string still_there_;
};

}  // namespace

void log_decisions(Log& log, const std::vector<core::Action>& actions,
                   const core::Snapshot& snapshot, core::Instant now) {
  Writer writer(log, snapshot, now);
  for (const core::Action& action : actions) std::visit(writer, action);
}

void BudgetWarning::tell(Log& log, const core::Snapshot& snapshot) {
  const auto& budget = snapshot.budget;
  if (!budget || budget == told_) return;
  told_ = budget;
  if (budget->settle_fits() && budget->blind_fits()) return;
  log.write(Level::kWarn, "grace-too-short",
            {{"grace_seconds", core::in_seconds(budget->grace)},
             {"kept_seconds", core::in_seconds(budget->kept)},
             {"hold_seconds", core::in_seconds(budget->hold)},
             {"settle_and_quiet_need_seconds", core::in_seconds(budget->settle_needs)},
             {"blind_needs_seconds", core::in_seconds(budget->blind_needs)},
             {"grace_needed_seconds", std::ceil(core::in_seconds(budget->grace_needed))}});
}

}  // namespace lastcall::report
