#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stepcast {

/// The columns of a table of published training throughput (design 6.4), in the order in which the files have
/// them.
[[nodiscard]] std::span<const std::string_view> measured_columns();
/// Likewise of a table of published collectives: nccl-tests' columns and what is known of the cluster.
[[nodiscard]] std::span<const std::string_view> collective_columns();

/// Why a row is not compared; thrown while a row is mapped and caught by who asked for it.
struct SkippedRow {
  std::string reason;
};

/// One published measurement: text by column, blanks at both ends taken off.
struct MeasuredRow {
  std::string file;  ///< as it was given
  unsigned line{};   ///< from 1; the header is line 1
  std::map<std::string, std::string, std::less<>> cells;

  /// "" for an empty cell.
  [[nodiscard]] const std::string& text(std::string_view column) const;
  [[nodiscard]] bool has(std::string_view column) const { return !text(column).empty(); }
  /// Nothing for an empty cell. @throws SkippedRow when the cell is not a finite number
  [[nodiscard]] std::optional<double> number(std::string_view column) const;
  /// Nothing for an empty cell. @throws SkippedRow when the cell is not a whole number above 0
  [[nodiscard]] std::optional<long> count(std::string_view column) const;
};

struct MeasuredTable {
  std::vector<MeasuredRow> rows;
  std::vector<std::string> notes;  ///< columns that are not known and were not used
};

/// Rows of a CSV file whose header has `columns`, in any order.
/// @throws ScenarioError: a file that can't be read, faults of its CSV, a column that is missing or appears
/// twice
[[nodiscard]] MeasuredTable read_measured(const std::string& file,
                                          std::span<const std::string_view> columns = measured_columns());
/// The same of a text; `file` names it.
[[nodiscard]] MeasuredTable parse_measured(std::string_view text, const std::string& file,
                                           std::span<const std::string_view> columns = measured_columns());

}  // namespace stepcast
