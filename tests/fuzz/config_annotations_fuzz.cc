// Annotations, on anything: each line of the input is "key=value".
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

#include "config/annotations.h"
#include "tests/fuzz/printable.h"

namespace {

using namespace lastcall::config;

void require(bool holds) {
  if (!holds) std::abort();
}

std::map<std::string, std::string> split(std::string_view input) {
  std::map<std::string, std::string> annotations;
  while (!input.empty()) {
    const std::string_view line = input.substr(0, input.find('\n'));
    input.remove_prefix(std::min(line.size() + 1, input.size()));
    const std::size_t equals = std::min(line.find('='), line.size());
    const std::size_t value = std::min(equals + 1, line.size());
    annotations.insert_or_assign(std::string(line.substr(0, equals)), line.substr(value));
  }
  return annotations;
}

// 60 bytes at most as \xNN, and three dots.
constexpr std::size_t kQuotedBytesMax = 243;

void check(const AnnotationError& error) {
  require(lastcall::fuzz::is_printable_line(error.key, kQuotedBytesMax));
  require(error.key.starts_with(kAnnotationPrefix));
  require(error.value.empty() || lastcall::fuzz::is_printable_line(error.value, kQuotedBytesMax));
  require(lastcall::fuzz::is_printable_line(error.message, kQuotedBytesMax + 100));
}

void check(const Annotations& said) {
  for (const auto member :
       {&Annotations::settle, &Annotations::quiet, &Annotations::blind, &Annotations::hold_min,
        &Annotations::hold_max, &Annotations::reserve, &Annotations::drain_max}) {
    const Milliseconds value = (said.*member).value_or(Milliseconds(0));
    require(value >= Milliseconds(0) && value <= kDurationMax);
  }
  require(said.hold_min.value_or(Milliseconds(0)) <= said.hold_max.value_or(kDurationMax));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const ReadAnnotations read = read_annotations(split(input));
  require(read.errors.size() <= kAnnotationErrorsMax);
  for (const AnnotationError& error : read.errors) check(error);
  check(read.said);
  return 0;
}
