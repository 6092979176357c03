#include "agent/hook/say.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace lastcall::hook {
namespace {

class Line {
 public:
  explicit Line(std::initializer_list<std::string_view> parts) {
    append("lastcall-hook: ");
    for (const std::string_view part : parts) append(part);
    bytes_[size_++] = '\n';
  }
  [[nodiscard]] std::string_view text() const { return {bytes_.data(), size_}; }

 private:
  void append(std::string_view part) {
    const std::size_t size = std::min(part.size(), bytes_.size() - 1 - size_);
    std::memcpy(bytes_.data() + size_, part.data(), size);
    size_ += size;
  }

  std::array<char, 512> bytes_{};
  std::size_t size_ = 0;
};

bool is_same_file(int a, int b) {
  struct stat of_a {};
  struct stat of_b {};
  return fstat(a, &of_a) == 0 && fstat(b, &of_b) == 0 && of_a.st_dev == of_b.st_dev &&
         of_a.st_ino == of_b.st_ino;
}

void write_to_first_process(std::string_view text) {
  if (getpid() == 1) return;
  // O_APPEND: when it is a file, this is a second position in it, at its start.
  const int fd = open("/proc/1/fd/2", O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd < 0) return;
  if (!is_same_file(fd, STDERR_FILENO)) write_all(fd, text);
  close(fd);
}

}  // namespace

std::string_view describe(int error) {
  const char* const words = strerrordesc_np(error);
  return words == nullptr ? "unknown error" : words;
}

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(fd, text.data(), text.size());
    if (count <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

void say(std::initializer_list<std::string_view> parts) {
  write_all(STDERR_FILENO, Line(parts).text());
}

void say_in_log(std::initializer_list<std::string_view> parts) {
  const Line line(parts);
  write_all(STDERR_FILENO, line.text());
  write_to_first_process(line.text());
}

}  // namespace lastcall::hook
