// Child processes that never outlive the demo.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

#include "net/event_loop.h"

namespace lastcall::demo {

struct Program {
  std::vector<std::string> arguments;    // the first one is the path
  std::vector<std::string> environment;  // "NAME=value"; nothing is inherited
  std::string log;                       // path: takes stdout and stderr, appended
};

// `exit_code` as a shell has it: 128 and the signal's number when one ended it.
using ExitCallback = std::function<void(int exit_code)>;

class Processes;

// One process. Destroying it kills it (SIGKILL) and waits for its end, without a callback.
class Process {
 public:
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // Nothing happens when it has exited.
  void signal(int signal_number);

 private:
  friend class Processes;
  Process(Processes& processes, pid_t pid, ExitCallback on_exit)
      : processes_(processes), pid_(pid), on_exit_(std::move(on_exit)) {}

  Processes& processes_;
  pid_t pid_;  // -1 once it has been waited for
  ExitCallback on_exit_;
};

class Processes {
 public:
  // Takes SIGCHLD. Must live as long as `loop` runs, and longer than its processes.
  explicit Processes(net::EventLoop& loop);

  // Calls `on_exit` from the loop when the process has gone by itself or by a signal, and not
  // when the Process was destroyed before; it may destroy any Process. A program that cannot
  // be started exits at once, with a line in its log. Should the demo die, the kernel kills it.
  [[nodiscard]] std::unique_ptr<Process> start(const Program& program, ExitCallback on_exit);

 private:
  friend class Process;
  void reap();

  std::map<pid_t, Process*> running_;
};

}  // namespace lastcall::demo
