#include "net/token_file.h"

#include <fstream>
#include <string_view>
#include <utility>

namespace lastcall::net {
namespace {

constexpr std::chrono::minutes kAgeMax{1};
constexpr std::size_t kFileBytesMax = std::size_t{64} * 1024;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kWhite = " \t\r\n";
  const auto first = text.find_first_not_of(kWhite);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kWhite) - first + 1);
}

Result<std::string> read_token(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string content(kFileBytesMax + 1, '\0');
  file.read(content.data(), static_cast<std::streamsize>(content.size()));
  if (!file.eof() && file.fail()) return Error{ErrorCode::kFatal, path + ": cannot be read", {}};
  content.resize(static_cast<std::size_t>(file.gcount()));
  if (content.size() > kFileBytesMax) {
    return Error{ErrorCode::kFatal, path + ": larger than a token can be", {}};
  }
  const std::string_view token = trimmed(content);
  if (token.empty()) return Error{ErrorCode::kFatal, path + ": empty", {}};
  return std::string(token);
}

}  // namespace

TokenFile::TokenFile(Loop& loop, std::string path) : loop_(loop), path_(std::move(path)) {}

Result<std::string> TokenFile::read() {
  if (trusted_ && loop_.now() - read_at_ <= kAgeMax) return token_;
  auto reading = read_token(path_);
  trouble_ = reading.ok() ? "" : reading.error().message;
  if (reading.ok()) {
    token_ = std::move(reading).value();
    read_at_ = loop_.now();
    trusted_ = true;
  } else if (token_.empty()) {
    return reading;
  }
  return token_;
}

void TokenFile::distrust() { trusted_ = false; }

}  // namespace lastcall::net
