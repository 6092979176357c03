#include "tests/sim/token_on_disk.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace lastcall::sim {

TokenOnDisk& TokenOnDisk::instance() {
  static TokenOnDisk token;
  return token;
}

TokenOnDisk::TokenOnDisk() {
  folder_ = (std::filesystem::temp_directory_path() / "lastcall-sim-XXXXXX").string();
  if (mkdtemp(folder_.data()) == nullptr) std::abort();
  path_ = folder_ + "/token";
}

TokenOnDisk::~TokenOnDisk() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void TokenOnDisk::set(const std::string& token) {
  if (token == token_) return;
  token_ = token;
  std::ofstream(path_, std::ios::trunc) << token << '\n';
}

}  // namespace lastcall::sim
