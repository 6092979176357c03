#include "net/listen_socket.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <system_error>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace lastcall::net {
namespace {

constexpr std::string_view kUnixPrefix = "unix:";
constexpr int kBacklog = 128;
constexpr mode_t kAllButOwnerReadWrite = 0177;

Error fatal(const std::string& address, const std::string& what) {
  return {ErrorCode::kFatal, address + ": " + what, {}};
}
Error failed(const std::string& address, const char* step, int error) {
  return fatal(address, std::string(step) + ": " + std::generic_category().message(error));
}

struct HostPort {
  std::string host;  // without brackets
  std::uint16_t port = 0;
};

std::optional<HostPort> split(std::string_view address) {
  const auto colon = address.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  HostPort result;
  const std::string_view port = address.substr(colon + 1);
  const auto [end, error] = std::from_chars(port.begin(), port.end(), result.port);
  if (error != std::errc() || end != port.end()) return std::nullopt;
  std::string_view host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  result.host = host;
  return result;
}

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;

  [[nodiscard]] const sockaddr* get() const {
    return reinterpret_cast<const sockaddr*>(&storage);  // the shape of the sockets API
  }
  template <class T>
  void set(const T& address) {
    std::memcpy(&storage, &address, sizeof(address));
    size = sizeof(address);
  }
};

std::optional<SocketAddress> ip_address(const std::string& host, std::uint16_t port) {
  SocketAddress result;
  sockaddr_in v4{};
  sockaddr_in6 v6{};
  if (inet_pton(AF_INET, host.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    result.set(v4);
  } else if (inet_pton(AF_INET6, host.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    result.set(v6);
  } else {
    return std::nullopt;
  }
  return result;
}

std::uint16_t bound_port(int fd) {
  sockaddr_in6 address{};  // the port of a sockaddr_in lies at the same place
  socklen_t size = sizeof(address);
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin6_port);
}

int new_socket(int family) { return socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); }

// Whether a file at `path` is only what an earlier run has left behind.
Status remove_stale(const std::string& path, const SocketAddress& address) {
  struct stat file {};
  if (lstat(path.c_str(), &file) != 0) return Done{};
  if (!S_ISSOCK(file.st_mode)) return fatal(path, "exists and is not a socket");
  const int probe = new_socket(AF_UNIX);
  const bool refused = connect(probe, address.get(), address.size) != 0 && errno == ECONNREFUSED;
  close(probe);
  if (!refused) return fatal(path, "in use by another process");
  unlink(path.c_str());
  return Done{};
}

}  // namespace

ListenSocket::ListenSocket(ListenSocket&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      address_(std::move(other.address_)),
      path_(std::exchange(other.path_, {})),
      device_(other.device_),
      inode_(other.inode_) {}

ListenSocket::~ListenSocket() {
  struct stat file {};
  if (is_unix() && lstat(path_.c_str(), &file) == 0 && file.st_dev == device_ &&
      file.st_ino == inode_) {
    unlink(path_.c_str());
  }
  if (fd_ >= 0) close(fd_);
}

Result<ListenSocket> ListenSocket::open(const std::string& address) {
  if (address.starts_with(kUnixPrefix)) return open_unix(address.substr(kUnixPrefix.size()));
  const auto parts = split(address);
  if (!parts) return fatal(address, "not of the form ADDRESS:PORT or unix:PATH");
  auto opened = open_tcp(parts->host, parts->port);
  // Hosts without IPv6 are common, and "[::]" only means "everywhere".
  if (!opened.ok() && parts->host == "::") {
    auto v4 = open_tcp("0.0.0.0", parts->port);
    if (v4.ok()) return v4;
  }
  return opened;
}

Result<ListenSocket> ListenSocket::open_tcp(const std::string& host, std::uint16_t port) {
  const auto ip = ip_address(host, port);
  if (!ip) return fatal(host, "not an IP address");
  const bool v6 = ip->storage.ss_family == AF_INET6;
  const std::string shown = v6 ? "[" + host + "]:" : host + ":";
  const std::string wanted = shown + std::to_string(port);

  ListenSocket result(new_socket(ip->storage.ss_family));
  if (result.fd_ < 0) return failed(wanted, "socket", errno);
  const int on = 1;
  const int off = 0;
  setsockopt(result.fd_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (v6) setsockopt(result.fd_, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  if (bind(result.fd_, ip->get(), ip->size) != 0) return failed(wanted, "bind", errno);
  if (::listen(result.fd_, kBacklog) != 0) return failed(wanted, "listen", errno);
  result.address_ = shown + std::to_string(bound_port(result.fd_));
  return result;
}

Result<ListenSocket> ListenSocket::open_unix(const std::string& path) {
  sockaddr_un un{};
  un.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(un.sun_path)) {
    return fatal(path, "not a path for a unix socket");
  }
  std::memcpy(un.sun_path, path.data(), path.size());
  SocketAddress address;
  address.set(un);
  if (const Status stale = remove_stale(path, address); !stale.ok()) return stale.error();

  ListenSocket result(new_socket(AF_UNIX));
  if (result.fd_ < 0) return failed(path, "socket", errno);
  const mode_t before = umask(kAllButOwnerReadWrite);
  const int bound = bind(result.fd_, address.get(), address.size);
  const int bind_error = errno;
  umask(before);
  if (bound != 0) return failed(path, "bind", bind_error);
  struct stat file {};
  if (lstat(path.c_str(), &file) != 0) return failed(path, "stat", errno);
  result.path_ = path;
  result.device_ = file.st_dev;
  result.inode_ = file.st_ino;
  if (::listen(result.fd_, kBacklog) != 0) return failed(path, "listen", errno);
  result.address_ = std::string(kUnixPrefix) + path;
  return result;
}

}  // namespace lastcall::net
