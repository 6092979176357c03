// The agent: where the parts are wired together, and nothing else.
#pragma once

#include <functional>
#include <memory>

#include "agent/core/drain.h"
#include "agent/report/log.h"
#include "config/settings.h"
#include "net/http_client.h"
#include "net/http_server.h"
#include "net/loop.h"

namespace lastcall::agent {

// What the agent touches of the world outside. All must outlive it.
struct Seams {
  net::Loop& loop;
  net::HttpClient& http;
  net::HttpServer& pod_server;    // reachable by anyone in the cluster
  net::HttpServer& local_server;  // reachable from inside the pod only
  report::LogSink& log;
};

class Agent {
 public:
  // Requires: settings.kubernetes_server names the API server.
  Agent(const config::Settings& settings, Seams seams);
  ~Agent();

  // Begins to serve, and learns the pod and its Services once; then idles until a stop.
  void start();

  // The kubelet stops our own container. The agent stays until the stop has been decided, however
  // often it is told, then calls `on_exit`.
  void on_sigterm();

  // Called once, when the agent has nothing left to stay for. The agent may not be destroyed
  // inside it.
  void on_exit(std::function<void()> callback);

  [[nodiscard]] core::Snapshot snapshot() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lastcall::agent
