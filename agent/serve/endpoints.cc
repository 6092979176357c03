#include "agent/serve/endpoints.h"

#include <string_view>
#include <utility>

namespace lastcall::serve {
namespace {

net::ServerResponse text(int status, std::string_view body) {
  return {.status = status, .body = std::string(body) + "\n"};
}

net::ServerResponse phase_text(int status, core::Phase phase) {
  return text(status, core::to_string(phase));
}

}  // namespace

Endpoints::Endpoints(net::HttpServer& pod, net::HttpServer& local, Callbacks callbacks)
    : callbacks_(std::move(callbacks)) {
  pod.on_request(
      [this](const net::ServerRequest& request, std::unique_ptr<net::Responder> responder) {
        on_request(request, std::move(responder), core::Trust::kNetwork);
      });
  local.on_request(
      [this](const net::ServerRequest& request, std::unique_ptr<net::Responder> responder) {
        on_request(request, std::move(responder), core::Trust::kLocal);
      });
}

void Endpoints::on_request(const net::ServerRequest& request,
                           std::unique_ptr<net::Responder> responder, core::Trust trust) {
  const bool get = request.method == "GET";
  const bool post = request.method == "POST";
  const bool local = trust == core::Trust::kLocal;
  const std::string& path = request.path;
  const bool reading =
      path == "/status" || path == "/metrics" || path == "/healthz" || path == "/readyz";
  const bool ordering = local && (path == "/drain" || path == "/release");

  if (path == "/hold" && (get || post)) {
    park(std::move(responder), trust);
  } else if (path == "/status" && get) {
    responder->respond({.content_type = "application/json", .body = callbacks_.status()});
  } else if (path == "/metrics" && get) {
    responder->respond(
        {.content_type = "text/plain; version=0.0.4; charset=utf-8", .body = callbacks_.metrics()});
  } else if (reading && get) {
    // Ready throughout the hold: failing readiness would drop the last-endpoint fallback.
    responder->respond(text(200, "ok"));
  } else if (path == "/drain" && local && post) {
    drain(*responder);
  } else if (path == "/release" && local && post) {
    release(*responder);
  } else if (path == "/hold" || reading || ordering) {
    responder->respond(text(405, "method not allowed"));
  } else {
    responder->respond(text(404, "no such path"));
  }
}

void Endpoints::park(std::unique_ptr<net::Responder> responder, core::Trust trust) {
  const core::HookId id = next_hook_id();
  responder->on_gone([this, id] {
    parked_.erase(id);
    callbacks_.emit(core::HookLeft{id});
  });
  parked_.emplace(id, std::move(responder));
  callbacks_.emit(core::HookArrived{id, trust});
}

void Endpoints::drain(net::Responder& responder) {
  callbacks_.emit(core::DrainOrdered{});
  responder.respond(phase_text(202, callbacks_.phase()));
}

void Endpoints::release(net::Responder& responder) {
  const bool nothing_to_release =
      callbacks_.phase() == core::Phase::kServing && callbacks_.hooks_waiting() == 0;
  if (nothing_to_release) {
    responder.respond(text(409, "nothing is held"));
    return;
  }
  callbacks_.emit(core::ReleaseOrdered{});
  responder.respond(phase_text(200, callbacks_.phase()));
}

void Endpoints::answer(core::HookId id, core::Answer answer) {
  const auto parked = parked_.extract(id);
  if (parked.empty()) return;
  parked.mapped()->respond(text(200, core::to_string(answer)));
}

}  // namespace lastcall::serve
