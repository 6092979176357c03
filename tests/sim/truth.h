// What consumers of the API would do now, known to the checker and to nobody else.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "agent/core/drain.h"
#include "config/annotations.h"
#include "config/settings.h"
#include "net/loop.h"
#include "tests/fakes/fake_api_server.h"

namespace lastcall::sim {

enum class Presence {
  kRoutable,
  kLastResort,
  kWithdrawn,
  kHidden,  // what is published leaves it open
};

struct Consumer {
  // When its Service first selected or listed the pod, or was ignored no more.
  net::Instant appeared_at{};
  bool selects = true;           // its Service is there, and still selects or lists the pod
  net::Instant deselected_at{};  // when it last ceased to
  Presence presence = Presence::kRoutable;
  net::Instant changed_at{};
  // When it last turned withdrawn; kept when it returns.
  std::optional<net::Instant> withdrawn_at;
  // When it last returned, and since when it had been withdrawn then.
  net::Instant returned_at{};
  std::optional<net::Instant> withdrawn_before{};
  bool listed = false;
  net::Instant listed_at{};  // when it last began to be
  // What it asks for; only limits may be left unsaid. A settle that is built in counts.
  config::Annotations asked{};
  net::Instant asked_at{};  // when that last changed

  [[nodiscard]] bool ignored() const { return asked.ignore.value_or(false); }
};

// By the names the agent has for them.
using Consumers = std::map<core::ConsumerId, Consumer>;

// Finds every consumer by itself: a Service that selects the pod is one by its EndpointSlices,
// and by its Endpoints if those are looked at; one that lists the pod in slices which nobody keeps
// up to date is one by those. What was a consumer once stays one.
class Truth {
 public:
  // `server` must outlive this object. `settings`: what holds where no annotation says otherwise,
  // and whether Endpoints are looked at.
  Truth(fakes::FakeApiServer& server, std::string pod, const config::Settings& settings);

  // Looks again; returns whether anything has changed.
  bool update(net::Instant now);

  [[nodiscard]] const Consumers& consumers() const { return consumers_; }
  // The last withdrawal, once all that are waited for have withdrawn.
  [[nodiscard]] std::optional<net::Instant> withdrawn_at() const;
  // What the pod asks for as a whole.
  [[nodiscard]] const config::Annotations& pod() const { return asked_by_pod_; }

 private:
  struct Sight {
    Presence presence = Presence::kWithdrawn;
    bool listed = false;
  };

  void update_pod();
  void discover(net::Instant now);
  bool update(const core::ConsumerId& id, Consumer& consumer, net::Instant now);
  [[nodiscard]] Sight look_at_slices(const fakes::Service& service, bool ignore_last_resort) const;
  [[nodiscard]] Sight look_at_endpoints(const fakes::Service& service) const;
  [[nodiscard]] Sight look_at_unmanaged(const fakes::Service& service) const;
  [[nodiscard]] config::Annotations asked(const fakes::Service& service) const;
  [[nodiscard]] core::ConsumerId id(const char* kind, const std::string& service) const;
  [[nodiscard]] const fakes::Service* service(const core::ConsumerId& id) const;

  fakes::FakeApiServer& server_;
  std::string pod_;
  config::Annotations asked_by_settings_;
  bool settle_is_set_;
  bool has_endpoints_;

  fakes::Labels labels_;  // of the pod
  config::Annotations asked_by_pod_;
  bool settle_is_said_ = false;  // by the settings or the Pod
  Consumers consumers_;
};

[[nodiscard]] const char* to_string(Presence presence);

}  // namespace lastcall::sim
