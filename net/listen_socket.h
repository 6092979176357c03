// A listening socket made from its textual address. For the other parts of net/ only.
#pragma once

#include <cstdint>
#include <string>

#include <sys/types.h>

#include "net/result.h"

namespace lastcall::net {

// Non-blocking; closed, and a unix socket's file removed, with the object.
class ListenSocket {
 public:
  // Takes the forms documented at EvhttpServer. kFatal when one cannot be parsed or bound.
  [[nodiscard]] static Result<ListenSocket> open(const std::string& address);
  ~ListenSocket();
  ListenSocket(ListenSocket&& other) noexcept;
  ListenSocket& operator=(ListenSocket&&) = delete;
  ListenSocket(const ListenSocket&) = delete;
  ListenSocket& operator=(const ListenSocket&) = delete;

  [[nodiscard]] int fd() const { return fd_; }
  // In the form open() takes, with the real port.
  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] bool is_unix() const { return !path_.empty(); }

 private:
  explicit ListenSocket(int fd) : fd_(fd) {}
  [[nodiscard]] static Result<ListenSocket> open_unix(const std::string& path);
  [[nodiscard]] static Result<ListenSocket> open_tcp(const std::string& host, std::uint16_t port);

  int fd_;
  std::string address_;
  std::string path_;
  // The file of ours, so that a successor's of the same name is left alone.
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace lastcall::net
