#include "tests/agent/core/stop.h"

#include <algorithm>
#include <utility>

namespace lastcall::core {

Stop& Stop::at(Duration since_start) {
  const Instant target = kStart + since_start;
  while (const auto next = drain_.next_wakeup()) {
    if (*next > target) break;
    if (*next < now_) {
      ADD_FAILURE() << "a wakeup lies in the past";
      break;
    }
    now_ = *next;
    take(drain_.on_time(now_));
    if (drain_.next_wakeup() && *drain_.next_wakeup() <= now_) {
      ADD_FAILURE() << "a wakeup brought nothing forward";
      break;
    }
  }
  now_ = std::max(now_, target);
  return *this;
}

Stop& Stop::tell(const Event& event) {
  take(drain_.on_event(event, now_));
  return *this;
}

std::optional<Answered> Stop::answer(HookId hook) const {
  const auto it = answers_.find(hook);
  return it == answers_.end() ? std::nullopt : std::optional(it->second);
}

std::vector<std::string> Stop::still_there() const {
  const Snapshot now = outcome();
  std::vector<std::string> names;
  for (const auto& one : now.still_there) names.push_back(one.name);
  return names;
}

ConsumerState Stop::consumer(const std::string& name) const {
  const Snapshot now = outcome();
  for (const auto& state : now.consumers) {
    if (state.id == id(name)) return state;
  }
  ADD_FAILURE() << "no consumer " << name;
  return {};
}

void Stop::take(std::vector<Action> actions) {
  for (auto& action : actions) {
    if (const auto* entered = std::get_if<PhaseEntered>(&action)) {
      EXPECT_TRUE(entered_.emplace(entered->phase, now_ - kStart).second)
          << to_string(entered->phase) << " was entered twice";
    } else if (const auto* answered = std::get_if<AnswerHook>(&action)) {
      EXPECT_TRUE(answers_.emplace(answered->id, Answered{now_ - kStart, answered->answer}).second)
          << "hook " << answered->id << " was answered twice";
    }
    actions_.push_back(std::move(action));
  }
}

std::optional<After> Stop::when(Phase phase) const {
  const auto it = entered_.find(phase);
  return it == entered_.end() ? std::nullopt : std::optional<After>(it->second);
}

}  // namespace lastcall::core
