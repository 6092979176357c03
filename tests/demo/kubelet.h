// The node: starts and stops the processes of the pods that the API server knows.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "tests/demo/pod_runner.h"
#include "tests/demo/scene.h"
#include "tests/demo/stage.h"
#include "tests/fakes/fake_api_server.h"

namespace lastcall::demo {

class Kubelet {
 public:
  struct Config {
    Scene scene;
    Strategy strategy;
    std::string api_url;
    std::string token_file;
  };
  struct Events {
    // The application's process of a pod that was deleted has gone.
    std::function<void(const std::string& pod)> on_stopped;
    // The run is worth nothing any more.
    std::function<void(const std::string& why)> on_trouble;
  };

  // Runs every pod that is created from now on, sets it ready when it answers, and removes its
  // object when it has ended after a DELETE. `stage` and `api` must outlive the kubelet, and
  // `api` must not change after its end.
  Kubelet(const Stage& stage, fakes::FakeApiServer& api, Config config, Events events);
  Kubelet(const Kubelet&) = delete;
  Kubelet& operator=(const Kubelet&) = delete;

 private:
  void on_change(const fakes::Change& change);
  void start(const fakes::Pod& pod);

  const Stage& stage_;
  fakes::FakeApiServer& api_;
  Config config_;
  Events events_;
  std::map<std::string, std::unique_ptr<PodRunner>> runners_;  // finished ones too
};

}  // namespace lastcall::demo
