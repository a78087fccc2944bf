#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stepcast {

/// One record of a CSV text.
struct CsvRecord {
  unsigned line{};  ///< where it starts; a quoted cell may hold line breaks, so records and lines differ
  std::vector<std::string> cells;
};

/// Records of a comma-separated text as RFC 4180 writes it: cells may be quoted, a quote inside is doubled,
/// and quoted cells may hold commas and line breaks. Lines end with LF or CRLF; a byte order mark and empty
/// lines are passed over.
/// @param file  the name that places carry
/// @throws ScenarioError: a quote that is not closed, text after a closing quote, a record with more or fewer
/// cells than
///         the first one (all such records at once)
[[nodiscard]] std::vector<CsvRecord> parse_csv(std::string_view text, const std::string& file);

/// The cell as a CSV text holds it: quoted where it must be.
[[nodiscard]] std::string csv_cell(std::string_view text);

}  // namespace stepcast
