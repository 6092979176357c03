#include "k8s/list_splitter.h"

#include <algorithm>
#include <utility>

namespace lastcall::k8s {
namespace {

// Enough for a slice of 1000 endpoints; larger items give their memory back.
constexpr std::size_t kItemBytesKept = std::size_t{512} * 1024;

constexpr std::size_t kLiteralBytesMax = 64;

net::Error invalid(std::string message) {
  return {net::ErrorCode::kInvalid, "not a list: " + std::move(message), std::nullopt};
}

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

// Numbers loosely: nobody reads them here.
bool is_literal(std::string_view text) {
  if (text == "null" || text == "true" || text == "false") return true;
  return !text.empty() && text.find_first_not_of("0123456789+-.eE") == std::string_view::npos &&
         (text.front() == '-' || (text.front() >= '0' && text.front() <= '9'));
}

}  // namespace

ListSplitter::ListSplitter(OnItem on_item) : on_item_(std::move(on_item)) { reset(); }

void ListSplitter::reset() {
  state_ = State::kStart;
  fields_ = 0;
  items_seen_ = false;
  escape_ = false;
  token_.clear();
  kind_.clear();
  metadata_.clear();
  metadata_.append("{}");
  item_.clear();
  item_.shrink(kItemBytesKept);
}

net::Status ListSplitter::feed(std::string_view chunk) {
  while (!chunk.empty()) {
    net::Status status = net::Done{};
    switch (state_) {
      case State::kItemBody:
        status = take_item(chunk);
        break;
      case State::kContainerValue:
        status = take_container(chunk);
        break;
      case State::kKeyText:
      case State::kStringValue:
        status = take_string(chunk);
        break;
      case State::kLiteralValue:
        status = take_literal(chunk);
        break;
      default:
        status = take_punctuation(chunk);
        break;
    }
    if (!status) return status;
  }
  return net::Done{};
}

net::Status ListSplitter::finish() const {
  if (state_ != State::kEnd) return invalid("it ends early");
  if (!items_seen_) return invalid("no items");
  return net::Done{};
}

const PaddedText& ListSplitter::metadata() const { return metadata_; }

std::string_view ListSplitter::kind() const { return kind_; }

net::Status ListSplitter::go_on(State next) {
  state_ = next;
  return net::Done{};
}

net::Status ListSplitter::expect(char c, char wanted, State next) {
  if (c != wanted) return invalid(std::string("no '") + wanted + "' where one must be");
  return go_on(next);
}

net::Status ListSplitter::take_punctuation(std::string_view& chunk) {
  const char c = chunk.front();
  if (is_space(c)) {
    chunk.remove_prefix(1);
    return net::Done{};
  }
  if (state_ == State::kValue) return begin_value(chunk);
  if (c == '{' && (state_ == State::kItem || state_ == State::kFirstItem)) {
    scanner_.begin();
    return go_on(State::kItemBody);
  }

  chunk.remove_prefix(1);
  switch (state_) {
    case State::kStart:
      return expect(c, '{', State::kFirstKey);
    case State::kFirstKey:
      return c == '}' ? go_on(State::kEnd) : expect(c, '"', State::kKeyText);
    case State::kKey:
      return expect(c, '"', State::kKeyText);
    case State::kColon:
      return expect(c, ':', State::kValue);
    case State::kFirstItem:
      return expect(c, ']', State::kAfterValue);
    case State::kAfterItem:
      return c == ',' ? go_on(State::kItem) : expect(c, ']', State::kAfterValue);
    case State::kAfterValue:
      return c == ',' ? go_on(State::kKey) : expect(c, '}', State::kEnd);
    case State::kItem:
      return invalid("an item is not an object");
    default:
      return invalid("text behind its end");
  }
}

// Leaves the first byte where it belongs to what is read next.
net::Status ListSplitter::begin_value(std::string_view& chunk) {
  const char c = chunk.front();
  if (c == '[' && field_ == Field::kItems) {
    chunk.remove_prefix(1);
    return go_on(State::kFirstItem);
  }
  if (c == '"' && (field_ == Field::kKind || field_ == Field::kOther)) {
    chunk.remove_prefix(1);
    return go_on(State::kStringValue);
  }
  const bool is_object_field = field_ == Field::kMetadata || field_ == Field::kOther;
  if ((c == '{' && is_object_field) || (c == '[' && field_ == Field::kOther)) {
    if (field_ == Field::kMetadata) metadata_.clear();
    container_bytes_ = 0;
    scanner_.begin();
    return go_on(State::kContainerValue);
  }
  if (c == '{' || c == '[' || c == '"') return invalid("a field of the wrong type");
  return go_on(State::kLiteralValue);
}

net::Status ListSplitter::take_string(std::string_view& chunk) {
  for (std::size_t i = 0; i < chunk.size(); ++i) {
    const char c = chunk[i];
    if (c == '"' && !escape_) {
      token_.append(chunk.substr(0, i));
      chunk.remove_prefix(i + 1);
      return state_ == State::kKeyText ? end_key() : end_string();
    }
    escape_ = c == '\\' && !escape_;
    if (static_cast<unsigned char>(c) < ' ') return invalid("a control character in a string");
    if (token_.size() + i >= kFieldBytesMax) return invalid("a field is too long");
  }
  token_.append(chunk);
  chunk = {};
  return net::Done{};
}

net::Status ListSplitter::end_key() {
  if (++fields_ > kFieldsMax) return invalid("too many fields");
  field_ = Field::kOther;
  if (token_ == "kind") field_ = Field::kKind;
  if (token_ == "metadata") field_ = Field::kMetadata;
  if (token_ == "items") {
    if (items_seen_) return invalid("items twice");
    items_seen_ = true;
    field_ = Field::kItems;
  }
  token_.clear();
  return go_on(State::kColon);
}

net::Status ListSplitter::end_string() {
  if (field_ == Field::kKind) kind_ = token_;
  token_.clear();
  return go_on(State::kAfterValue);
}

net::Status ListSplitter::take_literal(std::string_view& chunk) {
  const std::size_t size = std::min(chunk.find_first_of(", \n\t\r}"), chunk.size());
  if (size > kLiteralBytesMax - token_.size()) return invalid("not JSON");
  token_.append(chunk.substr(0, size));
  chunk.remove_prefix(size);
  return chunk.empty() ? net::Done{} : end_literal();
}

net::Status ListSplitter::end_literal() {
  if (!is_literal(token_)) return invalid("not JSON");
  if (field_ != Field::kOther && token_ != "null") return invalid("a field of the wrong type");
  token_.clear();
  return go_on(State::kAfterValue);
}

net::Status ListSplitter::take_container(std::string_view& chunk) {
  const ContainerScanner::Progress progress = scanner_.feed(chunk);
  if (progress.outcome == ContainerScanner::Outcome::kTooDeep) return invalid("nested too deep");
  container_bytes_ += progress.bytes;
  if (container_bytes_ > kFieldBytesMax) return invalid("a field is too long");
  if (field_ == Field::kMetadata) metadata_.append(chunk.substr(0, progress.bytes));
  chunk.remove_prefix(progress.bytes);
  if (progress.outcome == ContainerScanner::Outcome::kEnd) state_ = State::kAfterValue;
  return net::Done{};
}

net::Status ListSplitter::take_item(std::string_view& chunk) {
  const ContainerScanner::Progress progress = scanner_.feed(chunk);
  if (progress.outcome == ContainerScanner::Outcome::kTooDeep) return invalid("nested too deep");
  if (progress.bytes > kItemBytesMax - item_.size()) return invalid("an item is too long");
  item_.append(chunk.substr(0, progress.bytes));
  chunk.remove_prefix(progress.bytes);
  if (progress.outcome == ContainerScanner::Outcome::kMore) return net::Done{};

  state_ = State::kAfterItem;
  net::Status status = on_item_(item_);
  item_.clear();
  return status;
}

}  // namespace lastcall::k8s
