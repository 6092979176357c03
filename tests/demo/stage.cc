#include "tests/demo/stage.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace lastcall::demo {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void give_up(const char* why) {
  std::perror(why);
  std::abort();
}

net::Result<std::string> find_program(const fs::path& directory, const char* name,
                                      const char* place_in_build) {
  std::error_code ignored;
  for (const fs::path& path : {directory / name, directory / place_in_build}) {
    if (fs::is_regular_file(path, ignored)) return fs::absolute(path).string();
  }
  return net::Error{net::ErrorCode::kFatal,
                    std::string(name) + " is not in " + directory.string() + " (--bin-dir)",
                    {}};
}

}  // namespace

net::Result<Binaries> find_binaries(const std::string& bin_dir) {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (error) return net::Error{net::ErrorCode::kFatal, "/proc/self/exe: " + error.message(), {}};
  const fs::path build = self.parent_path().parent_path().parent_path();
  const fs::path directory = bin_dir.empty() ? build : fs::path(bin_dir);
  auto agent = find_program(directory, "lastcall", "agent/cli/lastcall");
  if (!agent.ok()) return agent.error();
  auto hook = find_program(directory, "lastcall-hook", "agent/hook/lastcall-hook");
  if (!hook.ok()) return hook.error();
  return Binaries{self.string(), std::move(agent).value(), std::move(hook).value()};
}

// Bound, but not listening: it keeps the number from others and refuses nobody.
Port::Port() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const int on = 1;
  setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  socklen_t size = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (bind(fd_, generic, size) != 0) give_up("bind");
  if (getsockname(fd_, generic, &size) != 0) give_up("getsockname");
  number_ = ntohs(address.sin_port);
}

Port::~Port() { close(fd_); }

WorkDirectory::WorkDirectory() {
  std::string name = "/tmp/lastcall-demo.XXXXXX";
  if (mkdtemp(name.data()) == nullptr) give_up("mkdtemp");
  path_ = name;
}

WorkDirectory::~WorkDirectory() {
  std::error_code ignored;
  if (!kept_) fs::remove_all(path_, ignored);
}

}  // namespace lastcall::demo
