#include "tests/agent/hook/hook_process.h"

#include <array>
#include <csignal>
#include <filesystem>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace lastcall::hook {
namespace {

constexpr int kExecFailed = 127;

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// fork(), into a PID namespace of its own where that is allowed.
pid_t fork_apart() {
  const long pid = syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  return pid >= 0 ? static_cast<pid_t>(pid) : fork();
}

}  // namespace

HookCommand hook_command(std::vector<std::string> arguments) {
  return {LASTCALL_HOOK, std::move(arguments), {}, {}};
}

HookProcess::HookProcess(const HookCommand& command) : start_(std::chrono::steady_clock::now()) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) ADD_FAILURE() << "no pipe";
  std::vector<std::string> arguments = command.arguments;
  arguments.insert(arguments.begin(), command.program);
  std::vector<std::string> environment = command.environment;
  const std::vector<char*> argv = pointers_to(arguments);
  const std::vector<char*> envp = pointers_to(environment);
  pid_ = fork_apart();
  if (pid_ == 0) {
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    const char* const root = command.root.c_str();
    if (*root != '\0' && (chroot(root) != 0 || chdir("/") != 0)) _exit(kExecFailed);
    execve(argv[0], argv.data(), envp.data());
    _exit(kExecFailed);
  }
  close(ends[1]);
  output_ = ends[0];
}

HookProcess::~HookProcess() {
  if (!ended_) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  close_output();
}

bool HookProcess::is_running() {
  if (!ended_) ended_ = waitpid(pid_, &status_, WNOHANG) == pid_;
  return !ended_;
}

int HookProcess::exit_code() {
  while (is_running()) {
    if (age() > kPatienceOfTests) {
      ADD_FAILURE() << "lastcall-hook still runs";
      return -1;
    }
    poll(nullptr, 0, 2);
  }
  return WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
}

std::string HookProcess::output() {
  std::string text;
  std::array<char, 4096> buffer{};
  while (true) {
    const ssize_t count = read(output_, buffer.data(), buffer.size());
    if (count <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

void HookProcess::close_output() {
  if (output_ >= 0) close(output_);
  output_ = -1;
}

void HookProcess::terminate() const { kill(pid_, SIGTERM); }

std::chrono::milliseconds HookProcess::age() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() -
                                                               start_);
}

TemporaryDirectory::TemporaryDirectory() {
  std::string pattern = std::filesystem::temp_directory_path() / "lastcall-hook-XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) ADD_FAILURE() << "no temporary directory";
  path_ = pattern;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace lastcall::hook
