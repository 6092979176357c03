// Files as operators, editors and attackers write them.
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "config/settings.h"

namespace lastcall::config {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const Environment kIdentity{{"LASTCALL_POD_NAME", "web-0"}, {"LASTCALL_POD_NAMESPACE", "shop"}};

std::string outcome_of(const std::variant<Settings, ConfigError>& result) {
  const auto* error = std::get_if<ConfigError>(&result);
  return error != nullptr ? error->text() : "loaded";
}

std::string outcome_of(std::string_view yaml) { return outcome_of(load(yaml, "f", kIdentity)); }

TEST(File, ThatSaysNothingIsRight) {
  for (const char* yaml : {"", "\n\n", "# only a comment\n", "---\n", "---\n...\n", "{}", "~\n",
                           "\xef\xbb\xbf# with a byte order mark\n", "hold:\n", "hold: {}\n"}) {
    EXPECT_EQ(outcome_of(yaml), "loaded") << yaml;
  }
}

TEST(File, CanSayAKeyWithDotsOrNested) {
  for (const char* yaml : {"hold.max: 5s", "hold: {max: 5s}", "hold:\n  max: 5s\n",
                           "\"hold.max\": '5s'", "hold.max: 5s\r\n", "? hold.max\n: 5s\n"}) {
    const auto result = load(yaml, "f", kIdentity);
    ASSERT_TRUE(std::holds_alternative<Settings>(result)) << outcome_of(result);
    EXPECT_EQ(std::get<Settings>(result).hold_max.value, std::chrono::seconds(5)) << yaml;
  }
}

TEST(File, IsAMap) {
  EXPECT_EQ(outcome_of("hello"), "f:1: a plain value, expected a map of keys");
  EXPECT_EQ(outcome_of("\n- settle\n"), "f:2: a list, expected a map of keys");
}

TEST(File, IsOneDocument) {
  EXPECT_EQ(outcome_of("settle: 1s\n---\nquiet: 1s\n"), "f:2: a second document, expected one");
}

TEST(File, ThatIsNoYamlNamesTheLine) {
  EXPECT_THAT(outcome_of("settle: 1s\nquiet: [1s\n"), StartsWith("f:"));
  EXPECT_THAT(outcome_of("settle: 1s\n quiet: 1s\n"), StartsWith("f:2: not YAML: "));
  EXPECT_THAT(outcome_of("settle: \"1s"), HasSubstr("not YAML: "));
  EXPECT_THAT(outcome_of("%YAML 9.9\n---\nsettle: 1s"), HasSubstr("not YAML: "));
}

// The parser quotes what it read, control characters and all.
TEST(File, ThatIsNoYamlIsQuotedOnOneLine) {
  EXPECT_EQ(outcome_of("%YAML \r1.x\n---\n"), "f:1: not YAML: bad YAML version: \\x0d1.x");
}

TEST(File, NamesTheLineAndTheGuessForAnUnknownKey) {
  EXPECT_EQ(outcome_of("settle: 1s\nquite: 1s\n"), "f:2: quite: unknown key, did you mean quiet?");
  EXPECT_EQ(outcome_of("hold:\n  maximum: 1s\n"), "f:2: hold.maximum: unknown key");
  EXPECT_EQ(outcome_of("hold:\n  mx: 1s\n"), "f:2: hold.mx: unknown key, did you mean hold.max?");
  EXPECT_EQ(outcome_of("hodl:\n  max: 1s\n"), "f:1: hodl: unknown key, did you mean hold?");
  EXPECT_EQ(outcome_of("Settle: 1s"), "f:1: Settle: unknown key, did you mean settle?");
  EXPECT_EQ(outcome_of("<<: {settle: 1s}"), "f:1: <<: unknown key");
  EXPECT_EQ(outcome_of("\"a\\nb\": 1s"), "f:1: a\\x0ab: unknown key");
}

TEST(File, SaysAKeyOnce) {
  EXPECT_EQ(outcome_of("settle: 1s\nquiet: 1s\nsettle: 1s\n"),
            "f:3: settle: said twice, first on line 1");
  EXPECT_EQ(outcome_of("hold:\n  max: 1s\n  max: 2s\n"),
            "f:3: hold.max: said twice, first on line 2");
  EXPECT_EQ(outcome_of("hold: {max: 1s}\nhold: {min: 1s}\n"),
            "f:2: hold: said twice, first on line 1");
  EXPECT_EQ(outcome_of("hold.max: 1s\nhold: {max: 1s}\n"),
            "f:2: hold.max: said twice, first on line 1");
}

TEST(File, GivesEveryKeyAValue) {
  EXPECT_EQ(outcome_of("quiet: 1s\nsettle:\n"), "f:2: settle: has no value");
  EXPECT_EQ(outcome_of("settle: ~"), "f:1: settle: has no value");
  EXPECT_EQ(outcome_of("settle: null"), "f:1: settle: has no value");
  EXPECT_THAT(outcome_of("settle: ''"), StartsWith("f:1: settle: '', expected a duration"));
  EXPECT_EQ(outcome_of("pod.ips:"), "f:1: pod.ips: has no value");
  EXPECT_EQ(outcome_of("pod.ips: [10.0.0.1, ~]"), "f:1: pod.ips: an empty list item");
}

TEST(File, GivesAKeyAValueOfItsKind) {
  EXPECT_THAT(outcome_of("quiet: 1s\nsettle: [1s]\n"),
              StartsWith("f:2: settle: a list, expected a duration"));
  EXPECT_EQ(outcome_of("settle: {max: 1s}"),
            "f:1: settle: a map, expected a plain value or a list");
  EXPECT_EQ(outcome_of("hold: 1s"), "f:1: hold: a plain value, expected a map of keys");
  EXPECT_EQ(outcome_of("hold: [1s]"), "f:1: hold: a list, expected a map of keys");
  EXPECT_EQ(outcome_of("pod.ips: 10.0.0.1"),
            "f:1: pod.ips: '10.0.0.1', expected a list such as [10.0.0.7, fd00::7]");
  EXPECT_EQ(outcome_of("pod.ips: [[10.0.0.1]]"), "f:1: pod.ips: a list within a list");
  EXPECT_EQ(outcome_of("pod.ips: [{a: b}]"),
            "f:1: pod.ips: a map, expected a plain value or a list");
  EXPECT_THAT(outcome_of("silence: yes"), HasSubstr("'yes', expected true or false"));
  EXPECT_THAT(outcome_of("settle: 3"), HasSubstr("'3', expected a duration"));
}

TEST(File, HasPlainKeys) {
  EXPECT_EQ(outcome_of("? [a]\n: b\n"), "f:1: a list where a key is expected");
  EXPECT_EQ(outcome_of("? {a: b}\n: c\n"), "f:1: a map where a key is expected");
  EXPECT_EQ(outcome_of("~: b"), "f:1: an empty key");
  EXPECT_EQ(outcome_of("'': b"), "f:1: unknown key");
}

TEST(File, HasNoAliases) {
  EXPECT_EQ(outcome_of("settle: &a 1s\nquiet: *a\n"),
            "f:2: quiet: aliases (*name) are not supported");
  // Each level would be nine times the one before.
  std::ostringstream bomb;
  bomb << "pod.ips: &a0 [x]\n";
  for (int i = 1; i < 20; ++i) {
    bomb << "k" << i << ": &a" << i << " [*a" << i - 1;
    for (int j = 0; j < 8; ++j) bomb << ", *a" << i - 1;
    bomb << "]\n";
  }
  EXPECT_EQ(outcome_of(bomb.str()), "f:2: k1: unknown key");
}

TEST(File, HasNoTags) {
  EXPECT_EQ(outcome_of("settle: !!binary MXM="), "f:1: settle: tags (!name) are not supported");
  EXPECT_EQ(outcome_of("!x {settle: 1s}"), "f:1: tags (!name) are not supported");
  EXPECT_EQ(outcome_of("pod.ips: !x [10.0.0.1]"), "f:1: pod.ips: tags (!name) are not supported");
}

TEST(File, IsNotDeep) {
  for (const std::string open : {"[", "{", "- ", "{a: ", "? ", "[{"}) {
    std::string yaml;
    while (yaml.size() < 100'000) yaml += open;
    EXPECT_THAT(outcome_of(yaml), StartsWith("f:1: ")) << open;
    EXPECT_THAT(outcome_of("pod.ips: " + yaml), StartsWith("f:1: ")) << open;
  }
}

TEST(File, IsUtf8WithoutControlCharacters) {
  EXPECT_EQ(outcome_of("settle: 1s\n# \xff\n"), "f:2: not UTF-8 text");
  EXPECT_EQ(outcome_of("# gr\xc3\xb6\xc3\x9f"
                       "e\n"),
            "loaded");
  EXPECT_EQ(outcome_of("# \xed\xa0\x80\n"), "f:1: not UTF-8 text");
  EXPECT_EQ(outcome_of("\xff\xfes\0e\0"), "f:1: not UTF-8 text");
  EXPECT_EQ(outcome_of(std::string_view("s\0e\0t\0", 6)), "f:1: holds a control character");
  EXPECT_EQ(outcome_of(std::string_view("settle: 1s\nquiet: 1s\0\n", 22)),
            "f:2: holds a control character");
  // Where yaml-cpp would end the file, and drop the rest without a word.
  EXPECT_EQ(outcome_of("settle: 1s\n\x04\nhold.max: 1s\n"), "f:2: holds a control character");
  EXPECT_THAT(outcome_of("pod.uid: \"a\\0b\""), StartsWith("f:1: pod.uid: 'a\\x00b', expected"));
}

class FileOnDisk : public testing::Test {
 protected:
  FileOnDisk() : path_(std::filesystem::temp_directory_path() / "lastcall-config-XXXXXX") {
    const int fd = mkstemp(path_.data());
    EXPECT_GE(fd, 0);
    close(fd);
  }
  ~FileOnDisk() override { std::filesystem::remove(path_); }

  void write(const std::string& content) const { std::ofstream(path_) << content; }
  [[nodiscard]] std::string outcome() const { return outcome_of(load_file(path_, kIdentity)); }

  std::string path_;
};

TEST_F(FileOnDisk, IsNamedInErrors) {
  write("\nsettle: 5\n");
  EXPECT_THAT(outcome(), StartsWith(path_ + ":2: settle: '5', expected"));
}

TEST_F(FileOnDisk, IsRead) {
  write("settle: 5s\n");
  const auto result = load_file(path_, kIdentity);
  ASSERT_TRUE(std::holds_alternative<Settings>(result)) << outcome_of(result);
  EXPECT_EQ(std::get<Settings>(result).settle.value, std::chrono::seconds(5));
}

TEST_F(FileOnDisk, IsNotNeededWithoutAPath) {
  EXPECT_EQ(outcome_of(load_file("", kIdentity)), "loaded");
}

TEST_F(FileOnDisk, MustExistWhenItIsNamed) {
  EXPECT_EQ(outcome_of(load_file(path_ + ".absent", kIdentity)),
            path_ + ".absent: cannot be read: No such file or directory");
}

TEST_F(FileOnDisk, IsNoDirectory) {
  const std::string directory = std::filesystem::temp_directory_path();
  EXPECT_EQ(outcome_of(load_file(directory, kIdentity)),
            directory + ": cannot be read: Is a directory");
}

TEST_F(FileOnDisk, MustBeReadable) {
  if (geteuid() == 0) GTEST_SKIP() << "root can read everything";
  std::filesystem::permissions(path_, std::filesystem::perms::none);
  EXPECT_EQ(outcome(), path_ + ": cannot be read: Permission denied");
}

TEST_F(FileOnDisk, IsAtMostAMebibyte) {
  const std::string start = "settle: 5s\n#";
  write(start + std::string(kFileBytesMax - start.size(), 'x'));
  EXPECT_EQ(outcome(), "loaded");
  write(start + std::string(kFileBytesMax - start.size() + 1, 'x'));
  EXPECT_EQ(outcome(), path_ + ": larger than 1 MiB");
}

}  // namespace
}  // namespace lastcall::config
