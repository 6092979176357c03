// The service-account token of every simulated pod of this process.
#pragma once

#include <string>

namespace lastcall::sim {

// A file in a temporary folder of its own, removed with the process.
class TokenOnDisk {
 public:
  [[nodiscard]] static TokenOnDisk& instance();
  ~TokenOnDisk();
  TokenOnDisk(const TokenOnDisk&) = delete;
  TokenOnDisk& operator=(const TokenOnDisk&) = delete;

  // Touches the disk only when the token changes.
  void set(const std::string& token);
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  TokenOnDisk();

  std::string folder_;
  std::string path_;
  std::string token_;
};

}  // namespace lastcall::sim
