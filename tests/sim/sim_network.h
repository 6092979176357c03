// The network between one agent and its API server, with everything networks do.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "net/http_client.h"
#include "tests/fakes/fake_api_server.h"
#include "tests/fakes/random_source.h"
#include "tests/fakes/sim_loop.h"
#include "tests/sim/journal.h"

namespace lastcall::sim {

// How often a request meets each kind of trouble; at most one of them.
struct Faults {
  std::chrono::microseconds latency_least{200};
  std::chrono::microseconds latency_most{2'000};
  double refused = 0;  // no connection
  double lost = 0;     // connects to nothing, until the connect limit
  double reset = 0;    // cut at any byte, or before the first
  double stalled = 0;  // silent from some byte on
  double status = 0;   // 401, 410, 429 or 5xx in place of the answer
  double garbage = 0;  // HTML, or JSON that ends early
  double split = 0;    // each chunk: arrives in pieces, cut at any byte

  [[nodiscard]] double any() const { return refused + lost + reset + stalled + status + garbage; }
};

// An answer that no API server gives.
struct HostileAnswer {
  int status = 200;
  std::string content_type = "application/json";
  std::string body{};
  std::string again{};  // follows the body for ever, once each
  std::chrono::milliseconds period{10};
};

// What the agent has been told of its own pod: complete, unharmed answers only.
struct PodReading {
  std::optional<net::WallTime> deletion_timestamp;
  bool ending = false;  // by a deletion, an eviction or a node shutdown
  bool gone = false;    // there is no such object
};

// And of its Node.
struct NodeReading {
  bool shutting_down = false;
};

class SimNetwork final : public net::HttpClient {
 public:
  // All must outlive the network, and the network its calls.
  SimNetwork(fakes::SimLoop& loop, fakes::FakeApiServer& server, fakes::RandomSource& random,
             Journal& journal);
  ~SimNetwork() override;

  [[nodiscard]] std::unique_ptr<net::HttpCall> start(net::HttpRequest request,
                                                     net::HttpHandler& handler) override;

  void set_faults(const Faults& faults) { faults_ = faults; }
  // Nobody is reachable: every new connection is refused.
  void set_down(bool down) { down_ = down; }
  // Cuts everything that is under way.
  void reset_all();
  // Rewrites what the server says before the agent sees it.
  void set_tampering(std::function<void(std::string&)> tamper) { tamper_ = std::move(tamper); }
  // What answers a request for this path and query in the server's place; nullopt: the server.
  void set_impostor(std::function<std::optional<HostileAnswer>(const std::string&)> impostor) {
    impostor_ = std::move(impostor);
  }
  void on_request(std::function<void()> listener) { on_request_ = std::move(listener); }
  void on_pod_reading(std::function<void(const PodReading&)> listener) {
    on_pod_reading_ = std::move(listener);
  }
  // `at`: what the agent has been given is what there was then.
  void on_services_reading(std::function<void(net::Instant at)> listener) {
    on_services_reading_ = std::move(listener);
  }
  void on_node_reading(std::function<void(const NodeReading&)> listener) {
    on_node_reading_ = std::move(listener);
  }

 private:
  class Call;
  enum class Fate { kSound, kRefused, kLost, kReset, kStalled, kStatus, kGarbage };

  [[nodiscard]] Fate draw_fate();
  [[nodiscard]] net::Duration draw_latency();

  fakes::SimLoop& loop_;
  fakes::FakeApiServer& server_;
  fakes::RandomSource& random_;
  Journal& journal_;
  Faults faults_;
  bool down_ = false;
  std::function<void(std::string&)> tamper_;
  std::function<std::optional<HostileAnswer>(const std::string&)> impostor_;
  std::function<void()> on_request_;
  std::function<void(const PodReading&)> on_pod_reading_;
  std::function<void(net::Instant)> on_services_reading_;
  std::function<void(const NodeReading&)> on_node_reading_;
  std::map<std::uint64_t, Call*> open_;  // by number, in the order of their start
  std::uint64_t calls_ = 0;
};

}  // namespace lastcall::sim
