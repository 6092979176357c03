// Stands in for the host's name service, so that a lookup takes as long as a test wants.
#pragma once

namespace lastcall::net {

// No name under ".test" is known. While this lives, looking one up blocks, as it does when a
// name server is silent.
class SlowNames {
 public:
  SlowNames();
  ~SlowNames();
  SlowNames(const SlowNames&) = delete;
  SlowNames& operator=(const SlowNames&) = delete;

  [[nodiscard]] bool asked() const;
};

}  // namespace lastcall::net
