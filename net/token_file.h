// A credential kept in a file that somebody else rotates.
#pragma once

#include <string>

#include "net/loop.h"
#include "net/result.h"

namespace lastcall::net {

// A service-account token: the kubelet rotates the file at 80 % of the token's life; client
// libraries re-read it within a minute and after a 401.
class TokenFile {
 public:
  // `loop` must outlive this object. Nothing is read before the first use.
  TokenFile(Loop& loop, std::string path);

  // The content without surrounding white space; read again when the last reading is older
  // than a minute. kFatal when the file is missing or empty, or larger than 64 KiB; an
  // earlier good reading is kept for such a moment and returned instead.
  [[nodiscard]] Result<std::string> read();
  // Why the last reading of the file was of no use; empty when it was.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }
  // The next read() goes to the file whatever its age: the server refused the token.
  void distrust();

 private:
  Loop& loop_;
  std::string path_;
  std::string token_;
  std::string trouble_;
  Instant read_at_{};
  bool trusted_ = false;
};

}  // namespace lastcall::net
