#include "tests/demo/processes.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace lastcall::demo {
namespace {

constexpr int kCannotExecute = 127;
constexpr int kSignalled = 128;

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (const auto& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

// In the child, between fork and exec: async-signal-safe calls only.
[[noreturn]] void execute(char* const* arguments, char* const* environment, const char* log,
                          pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kCannotExecute);  // it died before the line above
  const int output = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  execve(arguments[0], arguments, environment);
  constexpr char kWhy[] = "cannot be executed\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kWhy, sizeof(kWhy) - 1);
  _exit(kCannotExecute);
}

int exit_code_of(int status) {
  return WIFSIGNALED(status) ? kSignalled + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

Process::~Process() {
  if (pid_ < 0) return;
  processes_.running_.erase(pid_);
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void Process::signal(int signal_number) {
  if (pid_ > 0) kill(pid_, signal_number);
}

Processes::Processes(net::EventLoop& loop) {
  loop.on_signal(SIGCHLD, [this] { reap(); });
}

std::unique_ptr<Process> Processes::start(const Program& program, ExitCallback on_exit) {
  const auto arguments = pointers(program.arguments);
  const auto environment = pointers(program.environment);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) execute(arguments.data(), environment.data(), program.log.c_str(), parent);
  if (pid < 0) {
    std::fputs("lastcall-demo: cannot start a process\n", stderr);
    std::abort();
  }
  std::unique_ptr<Process> process(new Process(*this, pid, std::move(on_exit)));
  running_.emplace(pid, process.get());
  return process;
}

// One SIGCHLD may stand for several children. A callback may destroy other processes, so each
// is looked up again.
void Processes::reap() {
  std::vector<pid_t> exited;
  for (const auto& [pid, process] : running_) {
    siginfo_t info{};
    if (waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        info.si_pid == pid) {
      exited.push_back(pid);
    }
  }
  for (const pid_t pid : exited) {
    const auto found = running_.find(pid);
    if (found == running_.end()) continue;
    Process& process = *found->second;
    int status = 0;
    waitpid(pid, &status, 0);
    process.pid_ = -1;
    running_.erase(found);
    const auto on_exit = std::move(process.on_exit_);
    on_exit(exit_code_of(status));
  }
}

}  // namespace lastcall::demo
