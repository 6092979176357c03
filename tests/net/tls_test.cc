#include <csignal>
#include <cstdio>
#include <fstream>

#include "gtest/gtest.h"
#include <sys/wait.h>
#include <unistd.h>

#include "net/curl_client.h"
#include "tests/net/certificates.h"
#include "tests/net/world.h"

namespace lastcall::net {
namespace {

// openssl's own test server, which answers every GET with a page about the connection.
class TlsServer {
 public:
  explicit TlsServer(const std::string& certificate) {
    int ends[2] = {-1, -1};
    EXPECT_EQ(pipe(ends), 0);
    process_ = fork();
    if (process_ == 0) {
      dup2(ends[1], STDOUT_FILENO);
      dup2(ends[1], STDERR_FILENO);
      execlp("openssl", "openssl", "s_server", "-accept", "127.0.0.1:0", "-www", "-cert",
             certificate.c_str(), nullptr);
      _exit(127);
    }
    close(ends[1]);
    output_ = fdopen(ends[0], "r");
    char line[200] = "";
    constexpr std::string_view kAccept = "ACCEPT ";
    while (std::fgets(line, sizeof(line), output_) != nullptr) {
      const std::string_view text(line);
      if (!text.starts_with(kAccept)) continue;
      peer_ = text.substr(kAccept.size(), text.find_last_not_of('\n') + 1 - kAccept.size());
      return;
    }
    ADD_FAILURE() << "openssl s_server does not start";
  }
  ~TlsServer() {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
    (void)std::fclose(output_);
  }
  TlsServer(const TlsServer&) = delete;
  TlsServer& operator=(const TlsServer&) = delete;

  [[nodiscard]] const std::string& peer() const { return peer_; }

 private:
  pid_t process_ = -1;
  std::FILE* output_ = nullptr;
  std::string peer_;
};

class TlsTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    certificates_ = std::make_unique<Certificates>();
    certificates_->authority("ca");
    certificates_->authority("stranger");
    certificates_->server("server", "ca");
  }
  static void TearDownTestSuite() { certificates_.reset(); }

  std::string get(const std::string& url, const std::string& ca_file) {
    Recorder recorder(world_);
    HttpRequest request;
    request.url = url;
    request.ca_file = ca_file;
    const auto call = client_.start(request, recorder);
    world_.until([&] { return recorder.ended(); });
    body_ = recorder.body;
    return recorder.outcome();
  }

  static std::string path(const std::string& file) { return certificates_->path(file); }

  static std::unique_ptr<Certificates> certificates_;
  World world_;
  CurlClient client_{world_.loop};
  std::string body_;
};

std::unique_ptr<Certificates> TlsTest::certificates_;

TEST_F(TlsTest, TrustsAServerOfTheGivenAuthority) {
  const TlsServer server(path("server.pem"));
  EXPECT_EQ(get("https://" + server.peer() + "/", path("ca.pem")), "ok");
  EXPECT_NE(body_.find("s_server"), std::string::npos);
}

TEST_F(TlsTest, RefusesAServerOfAnotherAuthority) {
  const TlsServer server(path("server.pem"));
  for (const std::string& ca_file : {path("stranger.pem"), std::string()}) {
    EXPECT_EQ(get("https://" + server.peer() + "/", ca_file),
              "retry " + server.peer() +
                  ": certificate not trusted: SSL certificate problem: "
                  "unable to get local issuer certificate");
    EXPECT_EQ(body_, "");
  }
}

TEST_F(TlsTest, RefusesAnExpiredCertificate) {
  certificates_->server("expired", "ca", "-days -1");
  const TlsServer server(path("expired.pem"));
  EXPECT_EQ(get("https://" + server.peer() + "/", path("ca.pem")),
            "retry " + server.peer() +
                ": certificate not trusted: SSL certificate problem: certificate has expired");
}

TEST_F(TlsTest, RefusesACertificateForAnotherName) {
  const TlsServer server(path("server.pem"));
  const std::string port = server.peer().substr(server.peer().find(':'));
  EXPECT_EQ(get("https://localhost" + port + "/", path("ca.pem")),
            "retry localhost" + port +
                ": certificate not trusted: SSL: no alternative certificate subject name "
                "matches target host name 'localhost'");
}

TEST_F(TlsTest, CannotWorkWithoutItsCaFile) {
  const TlsServer server(path("server.pem"));
  std::ofstream(path("garbage.pem")) << "not a certificate";
  for (const std::string& ca_file : {path("nowhere.pem"), path("garbage.pem")}) {
    EXPECT_EQ(get("https://" + server.peer() + "/", ca_file),
              "fatal " + server.peer() + ": CA file cannot be used: " + ca_file);
  }
}

TEST_F(TlsTest, KeepsRequestsOfDifferentAuthoritiesApart) {
  const TlsServer server(path("server.pem"));
  EXPECT_EQ(get("https://" + server.peer() + "/", path("ca.pem")), "ok");
  EXPECT_NE(get("https://" + server.peer() + "/", path("stranger.pem")), "ok");
  EXPECT_EQ(get("https://" + server.peer() + "/", path("ca.pem")), "ok");
}

}  // namespace
}  // namespace lastcall::net
