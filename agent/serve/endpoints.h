// What lastcall answers over HTTP: hooks, status, health and metrics.
//
//                       pod-facing          local
//   GET|POST /hold      parked, not proof   parked, trusted
//   GET /status /metrics /healthz /readyz   the same
//   POST /drain         404                 starts the hold
//   POST /release       404                 ends it
//
// Nobody on the network can start, shorten or end a hold (DESIGN 4).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "agent/core/drain.h"
#include "net/http_server.h"

namespace lastcall::serve {

class Endpoints {
 public:
  struct Callbacks {
    std::function<void(core::Event)> emit;
    std::function<core::Phase()> phase;
    std::function<std::size_t()> hooks_waiting;
    std::function<std::string()> status;   // JSON
    std::function<std::string()> metrics;  // Prometheus text format
  };

  // Both servers must outlive this object.
  Endpoints(net::HttpServer& pod, net::HttpServer& local, Callbacks callbacks);
  Endpoints(const Endpoints&) = delete;
  Endpoints& operator=(const Endpoints&) = delete;

  // Answers a parked hook. The kubelet takes any status as success and reads no body; people
  // and lastcall-hook do.
  void answer(core::HookId id, core::Answer answer);

  // Names for the hooks that do not come over HTTP, such as our own SIGTERM.
  [[nodiscard]] core::HookId next_hook_id() { return next_hook_id_++; }

 private:
  void on_request(const net::ServerRequest& request, std::unique_ptr<net::Responder> responder,
                  core::Trust trust);
  void park(std::unique_ptr<net::Responder> responder, core::Trust trust);
  void drain(net::Responder& responder);
  void release(net::Responder& responder);

  Callbacks callbacks_;
  std::map<core::HookId, std::unique_ptr<net::Responder>> parked_;
  core::HookId next_hook_id_ = 1;
};

}  // namespace lastcall::serve
