// Notes the moments of every pod while a run goes on, and tells of them as they come.
#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "net/loop.h"
#include "tests/demo/recording.h"
#include "tests/fakes/kube_store.h"

namespace lastcall::demo {

class Chronicle {
 public:
  // All must outlive it, and `store` must not change after its end. `out` gets plain lines.
  Chronicle(net::Loop& loop, fakes::KubeStore& store, Recording& recording, std::ostream& out);
  Chronicle(const Chronicle&) = delete;
  Chronicle& operator=(const Chronicle&) = delete;

  // From now on news are told, and every 2 s without any how the requests fare.
  void begin_rollout();
  void end_rollout();

  void pod_stopped(const std::string& name);
  // Which addresses the slices offer, and which the balancer chooses from; sorted.
  void slices_say(const std::vector<std::string>& addresses);
  void balancer_does(const std::vector<std::string>& addresses);

 private:
  void on_pod(const fakes::Change& change);
  void tell(const std::string& what);
  // "old-1 is gone, 4.0 s after its DELETE"
  void tell_after_delete(const PodLife& pod, const std::string& what);

  net::Loop& loop_;
  Recording& recording_;
  std::ostream& out_;
  bool begun_ = false;
  std::unique_ptr<net::Timer> pulse_;
};

}  // namespace lastcall::demo
