// A LIST answer, whole and in chunks: both must be understood alike, and what is taken for a
// list must hold items that are balanced.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "k8s/list_splitter.h"
#include "tests/fuzz/chunks.h"

namespace {

using lastcall::k8s::ListSplitter;
using lastcall::k8s::PaddedText;

struct Split {
  bool ok = false;
  std::vector<std::string> items;
  std::string metadata;
  std::string kind;

  friend bool operator==(const Split&, const Split&) = default;
};

Split split(const std::vector<std::string_view>& chunks) {
  Split result;
  ListSplitter splitter([&](const PaddedText& item) {
    result.items.emplace_back(item.view());
    return lastcall::net::Status(lastcall::net::Done{});
  });
  for (const std::string_view chunk : chunks) {
    if (!splitter.feed(chunk)) return result;
  }
  if (!splitter.finish()) return result;
  result.ok = true;
  result.metadata = splitter.metadata().view();
  result.kind = splitter.kind();
  return result;
}

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const lastcall::fuzz::Chunked input = lastcall::fuzz::cut(data, size);
  const Split whole = split({input.text});
  require(split(input.chunks) == whole);
  for (const std::string& item : whole.items) {
    require(item.size() >= 2 && item.front() == '{' && (item.back() == '}' || item.back() == ']'));
  }
  return 0;
}
