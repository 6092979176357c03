// What consumers of the API would do now, known to the checker and to nobody else.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "net/loop.h"
#include "tests/fakes/fake_api_server.h"

namespace lastcall::sim {

enum class Presence { kRoutable, kLastResort, kWithdrawn };

struct Consumer {
  Presence presence = Presence::kRoutable;
  net::Instant changed_at{};
  // When it last turned withdrawn; kept when it returns.
  std::optional<net::Instant> withdrawn_at;
};

class Truth {
 public:
  // `server` must outlive this object. `ignore_last_resort`: being the last resort counts as
  // withdrawn.
  Truth(fakes::FakeApiServer& server, std::string pod, std::vector<std::string> services,
        bool ignore_last_resort);

  // Looks again; returns whether anything has changed.
  bool update(net::Instant now);

  [[nodiscard]] const std::map<std::string, Consumer>& consumers() const { return consumers_; }
  // The last withdrawal, once all have withdrawn.
  [[nodiscard]] std::optional<net::Instant> withdrawn_at() const;

 private:
  [[nodiscard]] Presence look(const std::string& service) const;

  fakes::FakeApiServer& server_;
  std::string pod_;
  bool ignore_last_resort_;
  std::map<std::string, Consumer> consumers_;
};

[[nodiscard]] const char* to_string(Presence presence);

}  // namespace lastcall::sim
