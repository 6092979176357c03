#include "tests/net/certificates.h"

#include <cstdlib>
#include <fstream>

#include "gtest/gtest.h"
#include <unistd.h>

namespace lastcall::net {

Certificates::Certificates()
    : folder_(std::filesystem::temp_directory_path() /
              ("lastcall-tls-" + std::to_string(getpid()))) {
  std::filesystem::create_directory(folder_);
}

Certificates::~Certificates() { std::filesystem::remove_all(folder_); }

void Certificates::openssl(const std::string& arguments) const {
  const std::string command =
      "cd " + folder_.string() + " && openssl " + arguments + " >openssl.log 2>&1";
  ASSERT_EQ(std::system(command.c_str()), 0)  // NOLINT(cert-env33-c): a fixed tool, for tests
      << command;
}

std::string Certificates::authority(const std::string& name) const {
  openssl("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=" + name +
          " -keyout " + name + ".key -out " + name + ".pem");
  return path(name + ".pem");
}

std::string Certificates::server(const std::string& name, const std::string& issuer,
                                 const std::string& valid) const {
  std::ofstream(path("extensions")) << "subjectAltName=IP:127.0.0.1\n";
  openssl("req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=" + name + " -keyout " +
          name + ".key -out " + name + ".csr");
  openssl("x509 -req -in " + name + ".csr -CA " + issuer + ".pem -CAkey " + issuer +
          ".key -CAcreateserial -extfile extensions " + valid + " -out " + name + ".crt");
  std::ofstream both(path(name + ".pem"));
  both << std::ifstream(path(name + ".crt")).rdbuf() << std::ifstream(path(name + ".key")).rdbuf();
  return path(name + ".pem");
}

}  // namespace lastcall::net
