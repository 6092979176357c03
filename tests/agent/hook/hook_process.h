// The real lastcall-hook as a child of the test.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include <sys/types.h>

namespace lastcall::hook {

// How long a test waits for what must happen, before it fails.
inline constexpr std::chrono::seconds kPatienceOfTests{20};

struct HookCommand {
  std::string program;
  std::vector<std::string> arguments;
  std::vector<std::string> environment;  // "NAME=value"
  std::string root;                      // chroot() there first, unless empty
};

// The program under test with these arguments.
[[nodiscard]] HookCommand hook_command(std::vector<std::string> arguments);

// Killed and reaped by the destructor. As root it gets a PID namespace of its own: it is the
// first process there, and leaves the log of the machine's first process alone.
class HookProcess {
 public:
  explicit HookProcess(const HookCommand& command);
  ~HookProcess();
  HookProcess(const HookProcess&) = delete;
  HookProcess& operator=(const HookProcess&) = delete;

  [[nodiscard]] bool is_running();

  // Waits for the end. The exit code, or 128 and the signal that killed it.
  [[nodiscard]] int exit_code();

  // What it wrote to stdout and stderr; call after exit_code().
  [[nodiscard]] std::string output();

  // From now on nobody reads what it writes.
  void close_output();

  void terminate() const;

  [[nodiscard]] std::chrono::milliseconds age() const;

 private:
  const std::chrono::steady_clock::time_point start_;
  pid_t pid_ = -1;
  int output_ = -1;
  bool ended_ = false;
  int status_ = 0;
};

// A directory that is removed with all it holds.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace lastcall::hook
