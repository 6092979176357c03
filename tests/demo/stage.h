// What all runs of the demo share: this process' loop and the things around it.
#pragma once

#include <cstdint>
#include <string>

#include "net/event_loop.h"
#include "net/http_client.h"
#include "net/result.h"
#include "tests/demo/processes.h"

namespace lastcall::demo {

struct Binaries {
  std::string demo;
  std::string agent;
  std::string hook;
};

// Looks for the agent and the hook in `bin_dir`, flat or laid out as a build directory; when it
// is empty, in the build directory that this program is in. kFatal names what is missing.
[[nodiscard]] net::Result<Binaries> find_binaries(const std::string& bin_dir);

// A port that is free on every address of this host, and stays so for those who bind one
// address of it with SO_REUSEADDR, as net's servers do.
class Port {
 public:
  // Aborts when there is none.
  Port();
  ~Port();
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  [[nodiscard]] std::uint16_t number() const { return number_; }

 private:
  int fd_;
  std::uint16_t number_ = 0;
};

// A new directory under /tmp, whose paths are short enough for unix sockets.
class WorkDirectory {
 public:
  // Aborts when it cannot be made.
  WorkDirectory();
  // Removes it, unless keep() was called.
  ~WorkDirectory();
  WorkDirectory(const WorkDirectory&) = delete;
  WorkDirectory& operator=(const WorkDirectory&) = delete;

  void keep() { kept_ = true; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  bool kept_ = false;
};

struct Stage {
  net::EventLoop& loop;
  net::HttpClient& http;
  Processes& processes;
  Binaries binaries;
  std::string directory;
  std::uint16_t pod_port;
  std::uint16_t agent_port;
};

}  // namespace lastcall::demo
