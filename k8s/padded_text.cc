#include "k8s/padded_text.h"

#include <algorithm>

#include <simdjson.h>

namespace lastcall::k8s {

void PaddedText::append(std::string_view chunk) {
  static_assert(kPadding >= simdjson::SIMDJSON_PADDING);
  if (chunk.empty()) return;
  const std::size_t bytes_before = size();
  const std::size_t bytes_needed = bytes_before + chunk.size() + kPadding;
  if (bytes_needed > text_.capacity()) {
    text_.reserve(std::max(bytes_needed, 2 * text_.capacity()));
  }
  text_.resize(bytes_before);
  text_.append(chunk);
  text_.append(kPadding, '\0');
}

void PaddedText::shrink(std::size_t bytes_max) {
  if (empty() && text_.capacity() > bytes_max) text_.shrink_to_fit();
}

std::size_t PaddedText::capacity() const { return text_.capacity(); }

}  // namespace lastcall::k8s
