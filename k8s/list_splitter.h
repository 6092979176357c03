// Takes a LIST answer apart while it streams, so that a list of any length needs the memory
// of its largest item.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "k8s/container_scanner.h"
#include "k8s/padded_text.h"
#include "net/result.h"

namespace lastcall::k8s {

// Understands {"kind":..,"metadata":{..},"items":[{..},..]} with its keys in any order and
// its bytes in any chunks. Splits by structure only: whether an item is well-formed inside is
// for its parser to say.
class ListSplitter {
 public:
  static constexpr std::size_t kItemBytesMax = std::size_t{4} * 1024 * 1024;
  // Of each top-level key and of each value but "items".
  static constexpr std::size_t kFieldBytesMax = std::size_t{64} * 1024;
  static constexpr int kFieldsMax = 64;

  using OnItem = std::function<net::Status(const PaddedText&)>;

  // `on_item` gets each element of "items", which must be objects; its error ends the
  // splitting. It must not destroy or reset the splitter.
  explicit ListSplitter(OnItem on_item);

  // kInvalid: not such an object, too deep, or over a bound; or the error of `on_item`.
  // Never called again after that, before reset().
  [[nodiscard]] net::Status feed(std::string_view chunk);
  // After the last chunk: kInvalid when the object is not complete or had no "items" (null
  // and [] are both an empty list).
  [[nodiscard]] net::Status finish() const;

  // The raw JSON of "metadata" ({} until seen) and the string "kind"; complete after finish().
  [[nodiscard]] const PaddedText& metadata() const;
  [[nodiscard]] std::string_view kind() const;
  // Back to the start, for the next page.
  void reset();

 private:
  // What is expected next, or what is being read.
  enum class State : std::uint8_t {
    kStart,
    kFirstKey,
    kKey,
    kKeyText,
    kColon,
    kValue,
    kStringValue,
    kLiteralValue,
    kContainerValue,
    kFirstItem,
    kItem,
    kItemBody,
    kAfterItem,
    kAfterValue,
    kEnd
  };
  enum class Field : std::uint8_t { kOther, kKind, kMetadata, kItems };

  // Each takes what it can from the front of a non-empty chunk.
  [[nodiscard]] net::Status take_punctuation(std::string_view& chunk);
  [[nodiscard]] net::Status take_string(std::string_view& chunk);
  [[nodiscard]] net::Status take_literal(std::string_view& chunk);
  [[nodiscard]] net::Status take_container(std::string_view& chunk);
  [[nodiscard]] net::Status take_item(std::string_view& chunk);

  [[nodiscard]] net::Status begin_value(std::string_view& chunk);

  [[nodiscard]] net::Status go_on(State next);
  [[nodiscard]] net::Status expect(char c, char wanted, State next);
  [[nodiscard]] net::Status end_key();
  [[nodiscard]] net::Status end_string();
  [[nodiscard]] net::Status end_literal();

  OnItem on_item_;
  State state_ = State::kStart;
  Field field_ = Field::kOther;
  int fields_ = 0;
  bool items_seen_ = false;
  bool escape_ = false;  // the next byte of a string is escaped
  std::size_t container_bytes_ = 0;
  ContainerScanner scanner_;
  std::string token_;  // the key, string or literal being read
  std::string kind_;
  PaddedText metadata_;
  PaddedText item_;
};

}  // namespace lastcall::k8s
