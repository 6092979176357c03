// lastcall-hook: what containers other than the agent's run. It links nothing of the system
// it runs on and nothing that throws, so it works in an empty image and starts at once.
//
// Exit codes: see kHelp in options.cc.
#include <csignal>
#include <cstdlib>

#include <unistd.h>

#include "agent/hook/install.h"
#include "agent/hook/options.h"
#include "agent/hook/say.h"
#include "agent/hook/wait.h"

namespace lastcall::hook {
namespace {

constexpr int kExitOk = 0;
constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;
constexpr int kExitTerminated = 128 + SIGTERM;

void terminate(int /*signal*/) { _exit(kExitTerminated); }

// As the first process of a container, it would not get a SIGTERM that it does not handle.
void set_signals() {
  struct sigaction action {};
  action.sa_handler = terminate;
  sigaction(SIGTERM, &action, nullptr);
  action.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &action, nullptr);
}

struct Run {
  int operator()(const WaitOptions& options) const {
    wait(options);
    return kExitOk;
  }
  int operator()(const InstallOptions& options) const {
    return install(options.directory) ? kExitOk : kExitFailed;
  }
  int operator()(const VersionOptions&) const {
    write_all(STDOUT_FILENO, "lastcall-hook " LASTCALL_VERSION "\n");
    return kExitOk;
  }
  int operator()(const HelpOptions&) const {
    write_all(STDOUT_FILENO, kHelp);
    return kExitOk;
  }
  int operator()(const UsageError& error) const {
    say({error.message, error.argument.empty() ? "" : ": ", error.argument,
         " (lastcall-hook --help explains)"});
    return kExitUsage;
  }
};

}  // namespace
}  // namespace lastcall::hook

int main(int, char** argv) {
  using namespace lastcall::hook;
  set_signals();
  return std::visit(Run(), parse_options(argv, std::getenv("LASTCALL_LISTEN_LOCAL")));
}
