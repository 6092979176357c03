// An agent's local listener of which the test plays every move.
#pragma once

#include <string>
#include <string_view>

namespace lastcall::hook {

// One request; its connection is closed by the destructor.
class Connection {
 public:
  // Reads to the end of the headers.
  explicit Connection(int fd);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  [[nodiscard]] const std::string& request() const { return request_; }

  void send(std::string_view text) const;

 private:
  const int fd_;
  std::string request_;
};

class ScriptedAgent {
 public:
  // At 127.0.0.1 or [::1], on a free port.
  static ScriptedAgent on_ipv4();
  static ScriptedAgent on_ipv6();
  // At a unix socket; the path must be free, and is free again when the agent has gone.
  static ScriptedAgent on_unix(const std::string& path);

  ~ScriptedAgent();
  ScriptedAgent(ScriptedAgent&& other) noexcept;
  ScriptedAgent(const ScriptedAgent&) = delete;
  ScriptedAgent& operator=(const ScriptedAgent&) = delete;
  ScriptedAgent& operator=(ScriptedAgent&&) = delete;

  // False when the address family does not exist here.
  [[nodiscard]] bool is_bound() const { return fd_ >= 0; }

  // In the form --agent takes.
  [[nodiscard]] const std::string& address() const { return address_; }

  // Until then connections are refused, while nobody else can take the address.
  ScriptedAgent& listen();

  // Waits for the next request.
  [[nodiscard]] Connection accept();

 private:
  ScriptedAgent(int fd, std::string address) : fd_(fd), address_(std::move(address)) {}

  int fd_;
  std::string address_;
};

}  // namespace lastcall::hook
