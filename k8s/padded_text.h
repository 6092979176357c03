// A growing buffer that simdjson can parse in place.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lastcall::k8s {

// Collects one JSON document from chunks and keeps the padding simdjson needs behind it,
// always zero, so that what a parser makes of garbage does not depend on earlier documents.
// Keeps its capacity across clear(), so that a stream of objects allocates once.
class PaddedText {
 public:
  PaddedText() = default;
  explicit PaddedText(std::string_view text) { append(text); }

  // Requires: `chunk` is not part of this text.
  void append(std::string_view chunk);
  void clear() { text_.clear(); }
  // Gives back memory beyond `bytes_max` of capacity; call between documents, that is when
  // empty().
  void shrink(std::size_t bytes_max);

  [[nodiscard]] std::string_view view() const { return {text_.data(), size()}; }
  [[nodiscard]] std::size_t size() const { return text_.empty() ? 0 : text_.size() - kPadding; }
  [[nodiscard]] bool empty() const { return text_.empty(); }
  // Readable bytes from data() on, at least size() plus simdjson's padding unless empty().
  [[nodiscard]] const char* data() const { return text_.data(); }
  [[nodiscard]] std::size_t capacity() const;

 private:
  static constexpr std::size_t kPadding = 64;

  std::string text_;  // empty, or with the padding as its last bytes
};

}  // namespace lastcall::k8s
