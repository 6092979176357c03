// A Deployment's rolling update with maxSurge 1 and maxUnavailable 0.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "net/loop.h"
#include "tests/fakes/fake_api_server.h"

namespace lastcall::demo {

inline constexpr const char* kService = "checkout";

// Creates "old-1".. at once; after begin(), one by one, creates "new-1", waits until it is
// ready, deletes "old-1", and goes on to the next: terminating pods hold nothing up.
class Rollout {
 public:
  // Pods get addresses 127.0.`subnet`.1 and up. `loop` and `api` must outlive the rollout, and
  // `api` must not change after its end. `on_done`: the last old pod has gone.
  Rollout(net::Loop& loop, fakes::FakeApiServer& api, int replicas, int subnet,
          std::function<void()> on_done);
  Rollout(const Rollout&) = delete;
  Rollout& operator=(const Rollout&) = delete;

  // Requires: every old pod is ready.
  void begin();

 private:
  void create(const std::string& name);
  void proceed();
  [[nodiscard]] bool is_ready(const std::string& name) const;
  [[nodiscard]] bool old_pods_left() const;

  net::Loop& loop_;
  fakes::FakeApiServer& api_;
  const int replicas_;
  const int subnet_;
  std::function<void()> on_done_;
  std::unique_ptr<net::Timer> soon_;  // a listener of the store must not write to it
  bool begun_ = false;
  bool done_ = false;
  int addresses_ = 0;
  int created_ = 0;  // new pods
  int deleted_ = 0;  // old pods
};

}  // namespace lastcall::demo
