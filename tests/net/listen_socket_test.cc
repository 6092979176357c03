#include "net/listen_socket.h"

#include <cstring>
#include <filesystem>
#include <fstream>

#include "gtest/gtest.h"
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace lastcall::net {
namespace {

std::string error_of(const std::string& address) {
  const auto socket = ListenSocket::open(address);
  if (socket.ok()) return "none";
  EXPECT_EQ(socket.error().code, ErrorCode::kFatal);
  return socket.error().message;
}

TEST(ListenSocket, TellsTheRealPort) {
  const auto socket = ListenSocket::open("127.0.0.1:0");
  ASSERT_TRUE(socket.ok()) << socket.error().message;
  EXPECT_TRUE(socket.value().address().starts_with("127.0.0.1:"));
  EXPECT_NE(socket.value().address(), "127.0.0.1:0");
  EXPECT_EQ(error_of(socket.value().address()),
            socket.value().address() + ": bind: Address already in use");
}

TEST(ListenSocket, RefusesWhatIsNotAnAddress) {
  EXPECT_EQ(error_of(""), ": not of the form ADDRESS:PORT or unix:PATH");
  EXPECT_EQ(error_of("127.0.0.1"), "127.0.0.1: not of the form ADDRESS:PORT or unix:PATH");
  EXPECT_EQ(error_of("127.0.0.1:"), "127.0.0.1:: not of the form ADDRESS:PORT or unix:PATH");
  EXPECT_EQ(error_of("127.0.0.1:http"),
            "127.0.0.1:http: not of the form ADDRESS:PORT or unix:PATH");
  EXPECT_EQ(error_of("127.0.0.1:65536"),
            "127.0.0.1:65536: not of the form ADDRESS:PORT or unix:PATH");
  EXPECT_EQ(error_of("localhost:80"), "localhost: not an IP address");
  EXPECT_EQ(error_of("192.0.2.1:0"), "192.0.2.1:0: bind: Cannot assign requested address");
}

class UnixSocketTest : public testing::Test {
 protected:
  UnixSocketTest() { std::filesystem::create_directory(folder_); }
  ~UnixSocketTest() override { std::filesystem::remove_all(folder_); }

  // As an agent that was killed leaves it.
  void leave_stale_socket() const {
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path_.c_str(), path_.string().size());
    ASSERT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    close(fd);
  }

  std::filesystem::path folder_ = std::filesystem::temp_directory_path() /
                                  ("lastcall-listen-" + std::to_string(getpid()) + "-" +
                                   testing::UnitTest::GetInstance()->current_test_info()->name());
  std::filesystem::path path_ = folder_ / "agent.sock";
  std::string address_ = "unix:" + path_.string();
};

TEST_F(UnixSocketTest, IsForItsOwnerOnlyAndGoesWithTheServer) {
  {
    const mode_t open_to_all = umask(0);
    const auto socket = ListenSocket::open(address_);
    EXPECT_EQ(umask(open_to_all), 0U) << "the process's own mask is kept";
    ASSERT_TRUE(socket.ok()) << socket.error().message;
    EXPECT_EQ(socket.value().address(), address_);
    EXPECT_TRUE(socket.value().is_unix());
    struct stat file {};
    ASSERT_EQ(stat(path_.c_str(), &file), 0);
    EXPECT_EQ(file.st_mode & 07777U, 0600U);
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(UnixSocketTest, ReplacesAStaleSocket) {
  leave_stale_socket();
  ASSERT_TRUE(std::filesystem::exists(path_));
  const auto socket = ListenSocket::open(address_);
  EXPECT_TRUE(socket.ok()) << socket.error().message;
}

TEST_F(UnixSocketTest, LeavesALivingServerAlone) {
  const auto living = ListenSocket::open(address_);
  ASSERT_TRUE(living.ok());
  EXPECT_EQ(error_of(address_), path_.string() + ": in use by another process");
  EXPECT_TRUE(std::filesystem::exists(path_));
}

TEST_F(UnixSocketTest, LeavesAnythingButASocketAlone) {
  std::ofstream(path_) << "precious";
  EXPECT_EQ(error_of(address_), path_.string() + ": exists and is not a socket");
  EXPECT_TRUE(std::filesystem::is_regular_file(path_));
}

TEST_F(UnixSocketTest, LeavesASuccessorsSocketAlone) {
  {
    const auto first = ListenSocket::open(address_);
    ASSERT_TRUE(first.ok());
    std::filesystem::remove(path_);
    leave_stale_socket();
  }
  EXPECT_TRUE(std::filesystem::exists(path_));
}

TEST_F(UnixSocketTest, RefusesAPathThatDoesNotFit) {
  EXPECT_EQ(error_of("unix:"), ": not a path for a unix socket");
  const std::string longest(108, 'x');
  EXPECT_EQ(error_of("unix:" + longest), longest + ": not a path for a unix socket");
  EXPECT_EQ(error_of("unix:/nowhere/agent.sock"),
            "/nowhere/agent.sock: bind: No such file or directory");
}

}  // namespace
}  // namespace lastcall::net
