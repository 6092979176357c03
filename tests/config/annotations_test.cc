// What annotations say, what is malformed about them, and that docs/annotations.md says so too.
#include "config/annotations.h"

#include <algorithm>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lastcall::config {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::ElementsAreArray;

// The one error of an object that says only this.
AnnotationError error_of(const std::string& key, const std::string& value) {
  ReadAnnotations read = read_annotations({{key, value}});
  EXPECT_EQ(read.said, Annotations{}) << key << ": " << value;
  if (read.errors.size() != 1) {
    ADD_FAILURE() << key << ": " << value << ": " << read.errors.size() << " errors";
    return {};
  }
  return std::move(read.errors.front());
}

TEST(Annotations, SayNothingWhenThereAreNone) {
  EXPECT_EQ(read_annotations({}).said, Annotations{});
  EXPECT_TRUE(read_annotations({}).errors.empty());
}

TEST(Annotations, SayEveryThreshold) {
  const ReadAnnotations read = read_annotations({{"lastcall/settle", "1s"},
                                                 {"lastcall/quiet", "2s"},
                                                 {"lastcall/blind", "3s"},
                                                 {"lastcall/hold-min", "4s"},
                                                 {"lastcall/hold-max", "5s"},
                                                 {"lastcall/reserve", "6s"},
                                                 {"lastcall/drain-max", "7s"},
                                                 {"lastcall/last-endpoint", "ignore"},
                                                 {"lastcall/ignore", "true"}});
  EXPECT_TRUE(read.errors.empty());
  Annotations expected;
  expected.settle = seconds(1);
  expected.quiet = seconds(2);
  expected.blind = seconds(3);
  expected.hold_min = seconds(4);
  expected.hold_max = seconds(5);
  expected.reserve = seconds(6);
  expected.drain_max = seconds(7);
  expected.last_endpoint = LastEndpoint::kIgnore;
  expected.ignore = true;
  EXPECT_EQ(read.said, expected);
}

TEST(Annotations, SayTheDefaultTooWhenItIsWritten) {
  const Annotations said = read_annotations({{"lastcall/settle", "0"},
                                             {"lastcall/last-endpoint", "wait"},
                                             {"lastcall/ignore", "false"}})
                               .said;
  EXPECT_EQ(said.settle, seconds(0));
  EXPECT_EQ(said.last_endpoint, LastEndpoint::kWait);
  EXPECT_EQ(said.ignore, false);
}

TEST(Annotations, OfOthersAreNotLookedAt) {
  const ReadAnnotations read = read_annotations({{"lastcall", "x"},
                                                 {"lastcall.io/settle", "x"},
                                                 {"lastcalls/settle", "x"},
                                                 {"Lastcall/settle", "x"},
                                                 {"settle", "1s"},
                                                 {"prometheus.io/scrape", "true"}});
  EXPECT_EQ(read.said, Annotations{});
  EXPECT_TRUE(read.errors.empty());
}

TEST(Annotations, ThatAreMalformedLeaveTheOthersStanding) {
  const ReadAnnotations read =
      read_annotations({{"lastcall/quiet", "soon"}, {"lastcall/settle", "9s"}});
  EXPECT_EQ(read.said.settle, seconds(9));
  EXPECT_EQ(read.said.quiet, std::nullopt);
  EXPECT_EQ(read.errors.size(), 1U);
}

TEST(Annotations, ThatShouldBeADurationSayWhatOneIs) {
  const AnnotationError error = error_of("lastcall/settle", "3");
  EXPECT_EQ(error.key, "lastcall/settle");
  EXPECT_EQ(error.value, "3");
  EXPECT_EQ(error.message, "'3', expected a duration between 0 and 24h such as 300ms, 5s or 2m");
}

TEST(Annotations, ThatShouldBeADurationForgiveNothing) {
  for (const char* key :
       {"lastcall/settle", "lastcall/quiet", "lastcall/blind", "lastcall/hold-min",
        "lastcall/hold-max", "lastcall/reserve", "lastcall/drain-max"}) {
    for (const char* value : {"", "5", "-5s", "+5s", "1.5s", " 5s", "5s ", "5S", "5 s", "25h",
                              "true", "none", "5s\n"}) {
      EXPECT_EQ(error_of(key, value).message.substr(0, 1), "'");
    }
  }
}

TEST(Annotations, ThatShouldBeAChoiceForgiveNothing) {
  EXPECT_EQ(error_of("lastcall/last-endpoint", "Wait").message, "'Wait', expected wait or ignore");
  EXPECT_EQ(error_of("lastcall/ignore", "yes").message, "'yes', expected true or false");
  for (const char* value : {"", "wait ", "never", "true"}) {
    EXPECT_EQ(error_of("lastcall/last-endpoint", value).key, "lastcall/last-endpoint");
  }
  for (const char* value : {"", "True", "1", "on", " true"}) {
    EXPECT_EQ(error_of("lastcall/ignore", value).key, "lastcall/ignore");
  }
}

TEST(Annotations, ThatAreUnknownComeWithTheGuess) {
  EXPECT_EQ(error_of("lastcall/setle", "3s").message, "unknown annotation, did you mean settle?");
  EXPECT_EQ(error_of("lastcall/hold.max", "3s").message,
            "unknown annotation, did you mean hold-max?");
  EXPECT_EQ(error_of("lastcall/Settle", "3s").message, "unknown annotation, did you mean settle?");
  EXPECT_EQ(error_of("lastcall/colour", "blue").message, "unknown annotation");
  EXPECT_EQ(error_of("lastcall/", "3s").message, "unknown annotation");
}

TEST(Annotations, KeepTheShortestHoldOnlyUpToTheLongest) {
  const ReadAnnotations read =
      read_annotations({{"lastcall/hold-min", "40000ms"}, {"lastcall/hold-max", "30s"}});
  EXPECT_EQ(read.said.hold_min, std::nullopt);
  EXPECT_EQ(read.said.hold_max, seconds(30));
  EXPECT_THAT(read.errors,
              ElementsAre(AnnotationError{"lastcall/hold-min", "40000ms",
                                          "40s is longer than lastcall/hold-max, which is 30s"}));

  const Annotations same =
      read_annotations({{"lastcall/hold-min", "30s"}, {"lastcall/hold-max", "30s"}}).said;
  EXPECT_EQ(same.hold_min, seconds(30));
}

TEST(Annotations, OfWhichTheLongestHoldIsMalformedKeepTheShortest) {
  const ReadAnnotations read =
      read_annotations({{"lastcall/hold-min", "40s"}, {"lastcall/hold-max", "30"}});
  EXPECT_EQ(read.said.hold_min, seconds(40));
  EXPECT_EQ(read.errors.size(), 1U);
}

TEST(Annotations, MakeErrorsThatFitALogLine) {
  const AnnotationError error = error_of("lastcall/settle", "a\nb\x01" + std::string(9999, 'x'));
  EXPECT_EQ(error.value.substr(0, 12), "a\\x0ab\\x01xx");
  EXPECT_LT(error.value.size(), 100U);
  EXPECT_LT(error.message.size(), 200U);
  EXPECT_EQ(error.message.find('\n'), std::string::npos);

  const AnnotationError odd = error_of("lastcall/\n" + std::string(9999, 'x'), "1s");
  EXPECT_EQ(odd.key.substr(0, 13), "lastcall/\\x0a");
  EXPECT_LT(odd.key.size(), 100U);
}

TEST(Annotations, KeepABoundedNumberOfErrorsAndEverythingThatWasSaid) {
  std::map<std::string, std::string> annotations{{"lastcall/settle", "9s"}};
  for (int i = 0; i < 100; ++i) annotations["lastcall/" + std::to_string(i)] = "x";
  const ReadAnnotations read = read_annotations(annotations);
  EXPECT_EQ(read.errors.size(), kAnnotationErrorsMax);
  EXPECT_EQ(read.said.settle, seconds(9));
}

std::string row_of(const AnnotationDoc& doc) {
  const std::string overrides =
      doc.overrides.empty() ? "-" : "`" + std::string(doc.overrides) + "`";
  return "| `" + std::string(doc.key) + "` | " + std::string(doc.form) + " | " + overrides + " | " +
         std::string(doc.meaning) + " |";
}

// The rows of the document's table, in their order.
std::vector<std::string> documented_rows() {
  std::ifstream file(LASTCALL_ANNOTATIONS_MD);
  EXPECT_TRUE(file) << LASTCALL_ANNOTATIONS_MD;
  std::vector<std::string> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("| `")) rows.push_back(line);
  }
  return rows;
}

TEST(AnnotationReference, IsWhatTheDocumentSays) {
  std::vector<std::string> rows;
  for (const AnnotationDoc& doc : annotation_reference()) rows.push_back(row_of(doc));
  EXPECT_THAT(documented_rows(), ElementsAreArray(rows));
}

TEST(AnnotationReference, NamesKeysOfTheFileInTheirOwnForm) {
  for (const AnnotationDoc& doc : annotation_reference()) {
    EXPECT_TRUE(doc.key.starts_with(kAnnotationPrefix)) << doc.key;
    if (doc.overrides.empty()) continue;
    const std::vector<KeyDoc> keys = reference();
    const auto key = std::find_if(keys.begin(), keys.end(),
                                  [&](const KeyDoc& each) { return each.key == doc.overrides; });
    ASSERT_NE(key, keys.end()) << doc.overrides;
    EXPECT_EQ(key->form, doc.form);
  }
}

}  // namespace
}  // namespace lastcall::config
