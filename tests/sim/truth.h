// What consumers of the API would do now, known to the checker and to nobody else.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/annotations.h"
#include "config/settings.h"
#include "net/loop.h"
#include "tests/fakes/fake_api_server.h"

namespace lastcall::sim {

enum class Presence { kRoutable, kLastResort, kWithdrawn };

struct Consumer {
  Presence presence = Presence::kRoutable;
  net::Instant changed_at{};
  // When it last turned withdrawn; kept when it returns.
  std::optional<net::Instant> withdrawn_at;
  // What it asks for; only limits may be left unsaid. A settle that is built in counts.
  config::Annotations asked{};
  net::Instant asked_at{};  // when that last changed

  [[nodiscard]] bool ignored() const { return asked.ignore.value_or(false); }
};

class Truth {
 public:
  // `server` must outlive this object. `settings`: what holds where no annotation says otherwise.
  Truth(fakes::FakeApiServer& server, std::string pod, std::vector<std::string> services,
        const config::Settings& settings);

  // Looks again; returns whether anything has changed.
  bool update(net::Instant now);

  [[nodiscard]] const std::map<std::string, Consumer>& consumers() const { return consumers_; }
  // The last withdrawal, once all that are waited for have withdrawn.
  [[nodiscard]] std::optional<net::Instant> withdrawn_at() const;
  // What the pod asks for as a whole.
  [[nodiscard]] const config::Annotations& pod() const { return asked_by_pod_; }

 private:
  [[nodiscard]] Presence look(const std::string& service, bool ignore_last_resort) const;
  [[nodiscard]] config::Annotations asked(const fakes::Service& service) const;
  void update_pod();

  fakes::FakeApiServer& server_;
  std::string pod_;
  config::Annotations asked_by_settings_;
  bool settle_is_set_;
  bool settle_is_said_ = false;  // by the settings or the Pod
  config::Annotations asked_by_pod_;
  std::map<std::string, Consumer> consumers_;
};

[[nodiscard]] const char* to_string(Presence presence);

}  // namespace lastcall::sim
