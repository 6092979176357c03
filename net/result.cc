#include "net/result.h"

#include <cstdlib>

namespace lastcall::net {

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::kRetry:
      return "retry";
    case ErrorCode::kRelist:
      return "relist";
    case ErrorCode::kReauthenticate:
      return "reauthenticate";
    case ErrorCode::kForbidden:
      return "forbidden";
    case ErrorCode::kNotFound:
      return "not-found";
    case ErrorCode::kInvalid:
      return "invalid";
    case ErrorCode::kFatal:
      return "fatal";
  }
  std::abort();
}

Error Error::in(std::string_view context) const {
  Error outer = *this;
  outer.message.insert(0, ": ").insert(0, context);
  return outer;
}

}  // namespace lastcall::net
