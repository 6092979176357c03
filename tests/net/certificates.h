// Throw-away certificates, made with the openssl tool.
#pragma once

#include <filesystem>
#include <string>

namespace lastcall::net {

// A folder that goes with the object.
class Certificates {
 public:
  Certificates();
  ~Certificates();
  Certificates(const Certificates&) = delete;
  Certificates& operator=(const Certificates&) = delete;

  // A new authority; gives the path of its PEM certificate.
  std::string authority(const std::string& name) const;
  // A certificate for 127.0.0.1 that `issuer` signs; gives the path of a PEM file with
  // certificate and key. `valid` is what openssl is told of its life.
  std::string server(const std::string& name, const std::string& issuer,
                     const std::string& valid = "-days 1") const;
  [[nodiscard]] std::string path(const std::string& file) const { return folder_ / file; }

 private:
  void openssl(const std::string& arguments) const;

  std::filesystem::path folder_;
};

}  // namespace lastcall::net
