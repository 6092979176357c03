#include "tests/net/name_service.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string_view>

#include <dlfcn.h>
#include <netdb.h>

namespace {

std::mutex mutex;
std::condition_variable changed;
bool silent = false;
std::atomic<bool> asked_for_a_name = false;

}  // namespace

// Found before the C library's by libcurl, which asks from a thread of its own.
extern "C" __attribute__((visibility("default"))) int getaddrinfo(const char* node,
                                                                  const char* service,
                                                                  const addrinfo* hints,
                                                                  addrinfo** result) {
  if (node != nullptr && std::string_view(node).ends_with(".test")) {
    std::unique_lock lock(mutex);
    asked_for_a_name = true;
    changed.wait(lock, [] { return !silent; });
    return EAI_NONAME;
  }
  using Real = int (*)(const char*, const char*, const addrinfo*, addrinfo**);
  static const Real real = reinterpret_cast<Real>(dlsym(RTLD_NEXT, "getaddrinfo"));
  return real(node, service, hints, result);
}

namespace lastcall::net {

SlowNames::SlowNames() {
  const std::lock_guard lock(mutex);
  silent = true;
  asked_for_a_name = false;
}

SlowNames::~SlowNames() {
  const std::lock_guard lock(mutex);
  silent = false;
  changed.notify_all();
}

bool SlowNames::asked() const { return asked_for_a_name; }

}  // namespace lastcall::net
