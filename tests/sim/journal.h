// What happened in a simulated world, for people. Free when nobody reads it.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fakes/sim_loop.h"

namespace lastcall::sim {

class Journal {
 public:
  // `loop` dates the lines and must outlive the journal.
  Journal(const fakes::SimLoop& loop, bool recording)
      : loop_(loop), start_(loop.now()), recording_(recording) {}

  template <class... Parts>
  void write(std::string_view who, const Parts&... parts) {
    if (!recording_) return;
    std::string line = stamp();
    line.append(who).append(": ");
    (line.append(parts), ...);
    lines_.push_back(std::move(line));
  }
  [[nodiscard]] const std::vector<std::string>& lines() const { return lines_; }

 private:
  [[nodiscard]] std::string stamp() const {
    char text[32];
    std::snprintf(text, sizeof(text), "%10.4f ",
                  std::chrono::duration<double>(loop_.now() - start_).count());
    return text;
  }

  const fakes::SimLoop& loop_;
  net::Instant start_;
  bool recording_;
  std::vector<std::string> lines_;
};

}  // namespace lastcall::sim
