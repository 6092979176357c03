// docs/configuration.md says what the code does.
#include <fstream>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/settings.h"

namespace lastcall::config {
namespace {

std::string row_of(const KeyDoc& doc) {
  std::string row = "| `" + std::string(doc.key) + "` | `" + doc.variable + "` | ";
  return row + std::string(doc.form) + " | " + doc.default_text + " | " + std::string(doc.meaning) +
         " |";
}

// The rows of the document's table of keys, in their order.
std::vector<std::string> documented_rows() {
  std::ifstream file(LASTCALL_CONFIGURATION_MD);
  EXPECT_TRUE(file) << LASTCALL_CONFIGURATION_MD;
  std::vector<std::string> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("| `")) rows.push_back(line);
  }
  return rows;
}

TEST(Reference, IsWhatTheDocumentSays) {
  std::vector<std::string> rows;
  for (const KeyDoc& doc : reference()) rows.push_back(row_of(doc));
  EXPECT_THAT(documented_rows(), testing::ElementsAreArray(rows));
}

TEST(Reference, NamesEveryKeyAndVariableOnce) {
  std::set<std::string> names;
  for (const KeyDoc& doc : reference()) {
    EXPECT_TRUE(names.emplace(doc.key).second) << doc.key;
    EXPECT_TRUE(names.insert(doc.variable).second) << doc.variable;
  }
}

TEST(Reference, HasNoKeyThatIsAlsoAGroup) {
  for (const KeyDoc& group : reference()) {
    for (const KeyDoc& doc : reference()) {
      EXPECT_FALSE(doc.key.starts_with(std::string(group.key) + ".")) << group.key;
    }
  }
}

TEST(Reference, HasNoVariableThatAServiceCouldSet) {
  for (const KeyDoc& doc : reference()) {
    EXPECT_FALSE(doc.variable.ends_with("_PORT") || doc.variable.ends_with("_SERVICE_HOST") ||
                 doc.variable.find("_PORT_") != std::string::npos)
        << doc.variable;
  }
}

TEST(Reference, ShowsDefaultsThatCanBeSaid) {
  const Environment identity{{"LASTCALL_POD_NAME", "web-0"}, {"LASTCALL_POD_NAMESPACE", "shop"}};
  for (const KeyDoc& doc : reference()) {
    // Words instead of a value.
    if (doc.default_text.find(' ') != std::string::npos || doc.default_text == "required" ||
        doc.default_text == "in-cluster") {
      continue;
    }
    Environment environment = identity;
    environment[doc.variable] = doc.default_text;
    EXPECT_TRUE(std::holds_alternative<Settings>(load(std::nullopt, "", environment))) << doc.key;
  }
}

}  // namespace
}  // namespace lastcall::config
