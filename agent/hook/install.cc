#include "agent/hook/install.h"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string_view>

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/hook/say.h"

namespace lastcall::hook {
namespace {

constexpr const char* kName = "lastcall-hook";
constexpr mode_t kMode = 0755;

class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  [[nodiscard]] bool is_open() const { return fd_ >= 0; }
  [[nodiscard]] int fd() const { return fd_; }

 private:
  const int fd_;
};

// ".lastcall-hook." and 16 random digits: containers that share a volume are all process 1.
using TemporaryName = std::array<char, 32>;

TemporaryName temporary_name() {
  constexpr std::string_view kStart = ".lastcall-hook.";
  std::uint64_t number = 0;
  if (getrandom(&number, sizeof(number), 0) != sizeof(number)) {
    number = static_cast<std::uint64_t>(getpid());
  }
  TemporaryName name{};
  kStart.copy(name.data(), kStart.size());
  for (std::size_t i = 0; i < 16; ++i) {
    name[kStart.size() + i] = "0123456789abcdef"[number % 16U];
    number /= 16U;
  }
  return name;
}

bool write_whole(int fd, const char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t count = write(fd, data, size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    data += count;
    size -= static_cast<std::size_t>(count);
  }
  return true;
}

bool copy(int from, int to) {
  std::array<char, std::size_t{64} * 1024> buffer;
  while (true) {
    const ssize_t count = read(from, buffer.data(), buffer.size());
    if (count == 0) return true;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 || !write_whole(to, buffer.data(), static_cast<std::size_t>(count))) return false;
  }
}

// Fills the file `name` in `directory` with this program. Sets errno.
bool fill(int directory, const char* name, int program) {
  const File file(openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kMode));
  // fchmod: the mode given to open() is cut by the umask.
  return file.is_open() && copy(program, file.fd()) && fchmod(file.fd(), kMode) == 0 &&
         fsync(file.fd()) == 0;
}

bool fail(std::string_view what, std::string_view directory) {
  const int error = errno;
  say({"cannot install into ", directory, ": ", what, ": ", describe(error)});
  return false;
}

}  // namespace

bool install(const char* directory) {
  const File program(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  if (!program.is_open()) return fail("cannot read this program (/proc/self/exe)", directory);
  const File folder(open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.is_open()) return fail("cannot open the directory", directory);
  const TemporaryName name = temporary_name();
  if (fill(folder.fd(), name.data(), program.fd()) &&
      renameat(folder.fd(), name.data(), folder.fd(), kName) == 0) {
    // Not every file system can sync a directory, and the copy is made anew at every start.
    static_cast<void>(fsync(folder.fd()));
    return true;
  }
  const bool said = fail("cannot write lastcall-hook", directory);
  unlinkat(folder.fd(), name.data(), 0);
  return said;
}

}  // namespace lastcall::hook
