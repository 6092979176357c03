// A busy control plane: the API server's EndpointSlices follow its pods late.
#pragma once

#include <deque>
#include <memory>

#include "net/loop.h"
#include "tests/fakes/fake_api_server.h"
#include "tests/fakes/kube_store.h"
#include "tests/fakes/slice_controller.h"

namespace lastcall::demo {

// The endpointslice controller works from a cache that is `lag` behind the API server, so that
// every single change reaches the slices so much later. The fake server's own controller is
// paused: its delay batches changes, and later ones of a batch would take less.
class ControlPlane {
 public:
  // Requires: nothing is stored yet. Both must outlive it; `api` must not change afterwards.
  ControlPlane(net::Loop& loop, fakes::FakeApiServer& api);
  ControlPlane(const ControlPlane&) = delete;
  ControlPlane& operator=(const ControlPlane&) = delete;

  // For changes to come.
  void set_lag(net::Duration lag) { lag_ = lag; }

 private:
  struct Due {
    net::Instant at;
    fakes::Change change;
  };

  void learn_later(const fakes::Change& change);
  void learn_due();

  net::Loop& loop_;
  fakes::KubeStore& published_;
  fakes::KubeStore cache_;
  fakes::SliceController controller_;
  net::Duration lag_{};
  std::deque<Due> due_;
  std::unique_ptr<net::Timer> timer_;
};

}  // namespace lastcall::demo
