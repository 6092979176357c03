#include "config/document.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <sstream>
#include <utility>

#include <simdjson.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include "config/wording.h"

namespace lastcall::config {
namespace {

std::string place(std::string_view file_name, int line) {
  return std::string(file_name) + ":" + std::to_string(line);
}

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\t' && c != '\r') || byte == 0x7f;
}

// What yaml-cpp would misread rather than refuse: it guesses UTF-16 from NUL bytes, takes
// 0x04 for the end of the file and replaces what is not UTF-8.
std::optional<ConfigError> check_bytes(std::string_view yaml, std::string_view file_name) {
  if (yaml.size() > kFileBytesMax) {
    return ConfigError{std::string(file_name), "", "larger than 1 MiB"};
  }
  for (int line = 1; !yaml.empty(); ++line) {
    const std::size_t end = std::min(yaml.find('\n'), yaml.size());
    const std::string_view text = yaml.substr(0, end);
    yaml.remove_prefix(std::min(end + 1, yaml.size()));
    if (!simdjson::validate_utf8(text.data(), text.size())) {
      return ConfigError{place(file_name, line), "", "not UTF-8 text"};
    }
    if (std::any_of(text.begin(), text.end(), is_control)) {
      return ConfigError{place(file_name, line), "", "holds a control character"};
    }
  }
  return std::nullopt;
}

// The groups of the known keys: "hold" for "hold.max".
std::vector<std::string_view> groups_of(const std::vector<std::string_view>& keys) {
  std::vector<std::string_view> groups;
  for (const std::string_view key : keys) {
    for (std::size_t dot = key.find('.'); dot != key.npos; dot = key.find('.', dot + 1)) {
      groups.push_back(key.substr(0, dot));
    }
  }
  std::sort(groups.begin(), groups.end());
  groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
  return groups;
}

bool contains(const std::vector<std::string_view>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Listens to the parser instead of letting it build its tree of nodes: the tree keeps doubled
// keys, expands aliases and forgets which line said what. After the first error it
// ignores what follows.
class Reader final : public YAML::EventHandler {
 public:
  Reader(std::string_view file_name, const std::vector<std::string_view>& keys)
      : file_name_(file_name), keys_(keys), groups_(groups_of(keys)) {}

  std::variant<std::vector<Entry>, ConfigError> take() {
    if (error_) return *std::move(error_);
    return std::move(entries_);
  }

  void fail(int line, std::string key, std::string message) {
    if (!error_) error_ = ConfigError{place(file_name_, line), std::move(key), std::move(message)};
  }

  [[nodiscard]] bool failed() const { return error_.has_value(); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ > 0) fail(line_of(mark), "", "a second document, expected one");
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override {
    if (error_) return;
    if (open_groups_.empty()) return;
    if (in_list_) return fail(line_of(mark), key_, "an empty list item");
    if (!has_key_) return fail(line_of(mark), "", "an empty key");
    // "hold:" with all its keys commented out says nothing, and does no harm.
    if (!contains(groups_, key_)) return fail(key_line_, key_, "has no value");
    has_key_ = false;
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override {
    fail(line_of(mark), has_key_ ? key_ : "", "aliases (*name) are not supported");
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t /*anchor*/,
                const std::string& value) override {
    if (error_ || refuse_tag(mark, tag)) return;
    if (open_groups_.empty())
      return fail(line_of(mark), "", "a plain value, expected a map of keys");
    if (!has_key_) return on_key(line_of(mark), value);
    if (contains(groups_, key_))
      return fail(key_line_, key_, "a plain value, expected a map of keys");
    if (!in_list_) begin_entry(false);
    entries_.back().values.push_back(value);
    has_key_ = in_list_;
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t /*anchor*/,
                       YAML::EmitterStyle::value /*style*/) override {
    if (error_ || refuse_tag(mark, tag)) return;
    if (open_groups_.empty()) return fail(line_of(mark), "", "a list, expected a map of keys");
    if (!has_key_) return fail(line_of(mark), "", "a list where a key is expected");
    if (in_list_) return fail(line_of(mark), key_, "a list within a list");
    if (contains(groups_, key_)) return fail(key_line_, key_, "a list, expected a map of keys");
    begin_entry(true);
    in_list_ = true;
  }
  void OnSequenceEnd() override {
    in_list_ = false;
    has_key_ = false;
  }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t /*anchor*/,
                  YAML::EmitterStyle::value /*style*/) override {
    if (error_ || refuse_tag(mark, tag)) return;
    if (!open_groups_.empty() && !has_key_) {
      return fail(line_of(mark), "", "a map where a key is expected");
    }
    if (in_list_ || (has_key_ && contains(keys_, key_))) {
      return fail(line_of(mark), key_, "a map, expected a plain value or a list");
    }
    open_groups_.push_back(open_groups_.empty() ? "" : key_ + ".");
    has_key_ = false;
  }
  void OnMapEnd() override {
    if (!error_) open_groups_.pop_back();
  }

 private:
  static int line_of(const YAML::Mark& mark) { return mark.line + 1; }

  // "!" and "?" are what yaml-cpp reports for values without a tag.
  bool refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.empty() || tag == "!" || tag == "?") return false;
    fail(line_of(mark), has_key_ ? key_ : "", "tags (!name) are not supported");
    return true;
  }

  void on_key(int line, const std::string& name) {
    key_ = open_groups_.back() + name;
    key_line_ = line;
    has_key_ = true;
    if (!contains(keys_, key_) && !contains(groups_, key_)) {
      std::vector<std::string_view> candidates = keys_;
      candidates.insert(candidates.end(), groups_.begin(), groups_.end());
      std::string message = unknown("key", key_, candidates);
      return fail(line, printable(key_), std::move(message));
    }
    const auto [first, is_new] = lines_.emplace(key_, line);
    if (!is_new) fail(line, key_, "said twice, first on line " + std::to_string(first->second));
  }

  void begin_entry(bool is_list) { entries_.push_back(Entry{key_, key_line_, is_list, {}}); }

  const std::string_view file_name_;
  const std::vector<std::string_view>& keys_;
  const std::vector<std::string_view> groups_;

  int documents_ = 0;
  std::vector<std::string> open_groups_;  // prefix of the keys in each open map, "hold."
  bool has_key_ = false;                  // key_ waits for its value, or its list is open
  bool in_list_ = false;
  std::string key_;
  int key_line_ = 0;
  std::map<std::string, int, std::less<>> lines_;  // of each key and group said so far
  std::vector<Entry> entries_;
  std::optional<ConfigError> error_;
};

}  // namespace

std::variant<std::vector<Entry>, ConfigError> read_document(
    std::string_view yaml, std::string_view file_name, const std::vector<std::string_view>& keys) {
  if (std::optional<ConfigError> error = check_bytes(yaml, file_name)) return *std::move(error);
  Reader reader(file_name, keys);
  try {
    std::istringstream stream{std::string(yaml)};
    YAML::Parser parser(stream);
    while (!reader.failed() && parser.HandleNextDocument(reader)) {
    }
  } catch (const YAML::Exception& e) {
    reader.fail(e.mark.is_null() ? 1 : e.mark.line + 1, "", "not YAML: " + printable(e.msg));
  }
  return reader.take();
}

}  // namespace lastcall::config
