// How errors about configuration quote what was written and guess what was meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lastcall::config {

// `text` made fit for one log line: whatever is not printable ASCII as \xNN, and cut after 60
// bytes.
[[nodiscard]] std::string printable(std::string_view text);

// The same in single quotes.
[[nodiscard]] std::string in_quotes(std::string_view text);

// "'<found>', expected <expected>"
[[nodiscard]] std::string not_expected(std::string_view found, std::string_view expected);

// The candidate nearest to `word`, when it is near enough to be a slip of the finger; else
// empty. One step is a letter added, left out, changed or swapped with its neighbour.
[[nodiscard]] std::string_view nearest(std::string_view word,
                                       const std::vector<std::string_view>& candidates);

// "unknown <thing>", with the nearest candidate if there is one.
[[nodiscard]] std::string unknown(std::string_view thing, std::string_view word,
                                  const std::vector<std::string_view>& candidates);

}  // namespace lastcall::config
