// One replica: an HTTP server as simple as applications are, in a process of its own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tests/demo/scene.h"

namespace lastcall::demo {

// What every request is answered with, after "HTTP/1.1 200 .." and some headers.
inline constexpr std::string_view kReplicaBody = "served\n";

struct ReplicaOptions {
  std::string listen;  // "127.0.1.2:8080"
  milliseconds start_after{0};
  std::uint64_t seed = 0;
};

// Starts up for `start_after`, then answers each request within a few milliseconds. It has no
// graceful shutdown: SIGTERM ends it at once, and its connections with it. Returns an exit
// code when it cannot listen.
int run_replica(const ReplicaOptions& options);

}  // namespace lastcall::demo
