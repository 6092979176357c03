// What the kernel says about this process, as Prometheus clients report it.
#pragma once

namespace lastcall::report {

struct ProcessFigures {
  double cpu_seconds = 0;
  double resident_bytes = 0;
  double open_fds = 0;
};

// From getrusage(2) and /proc/self; what cannot be read stays zero.
[[nodiscard]] ProcessFigures process_figures();

}  // namespace lastcall::report
