// The error type of everything that talks to the network or the file system.
//
// A code names what the caller should do about it, not what went wrong in detail: the
// message does that. Nothing in lastcall throws; functions that can fail return Result<T>.
#pragma once

#include <chrono>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace lastcall::net {

// What the caller should do next.
enum class ErrorCode {
  kRetry,           // passing trouble: try again later, after `retry_after` where it is given
  kRelist,          // the resource version is too old: LIST again before the next WATCH
  kReauthenticate,  // the credential was refused: read it again, then try once more
  kForbidden,       // the credential is good but may not do this: an operator has to act
  kNotFound,        // the object or the route does not exist
  kInvalid,         // the answer cannot be understood or is over a bound: retrying is not wrong,
                    // but believing it is
  kFatal,           // cannot work in this process: bad file, bad address
};

[[nodiscard]] std::string_view to_string(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::kFatal;
  std::string message;
  // How long the server asked us to stay away (Retry-After), where it said so.
  std::optional<std::chrono::milliseconds> retry_after;

  // The same error seen one layer up: "context: message".
  [[nodiscard]] Error in(std::string_view context) const;
};

// A value or an Error. Reading the one that is not there aborts: test with ok() first.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  [[nodiscard]] T& value() & { return *present(std::get_if<0>(&state_)); }
  [[nodiscard]] const T& value() const& { return *present(std::get_if<0>(&state_)); }
  [[nodiscard]] T&& value() && { return std::move(*present(std::get_if<0>(&state_))); }
  [[nodiscard]] const Error& error() const { return *present(std::get_if<1>(&state_)); }

 private:
  template <class U>
  static U* present(U* alternative) {
    if (alternative == nullptr) std::abort();
    return alternative;
  }

  std::variant<T, Error> state_;
};

// Success without a value.
struct Done {};
using Status = Result<Done>;

}  // namespace lastcall::net
