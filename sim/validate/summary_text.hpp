#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/validate/validate.hpp"

namespace stepcast::detail {

/// Kinds of groups with the words that head their part of a table.
struct SummaryPart {
  std::string prefix;  ///< of the groups' names; "": all, stated, assumed
  std::string title;
};
[[nodiscard]] const std::vector<SummaryPart>& summary_parts();
/// Of collectives.
[[nodiscard]] const std::vector<SummaryPart>& collective_summary_parts();
[[nodiscard]] bool belongs(const GroupSummary& group, const SummaryPart& part);

/// Words above the columns of group_cells and row_cells.
[[nodiscard]] const std::vector<std::string>& group_header();
[[nodiscard]] const std::vector<std::string>& row_header();
/// The group's name without its prefix, rows, median and 90th percentile of |error| in %, bias in %,
/// Kendall's tau.
[[nodiscard]] std::vector<std::string> group_cells(const GroupSummary& group, const SummaryPart& part);
/// FILE:LINE, model, GPUs, software and strategy, measured, predicted, error in %.
[[nodiscard]] std::vector<std::string> row_cells(const ValidatedRow& row);

/// The rows whose prediction is off by the largest factor, either way, largest first.
[[nodiscard]] std::vector<const ValidatedRow*> furthest_rows(const Validation& validation);
/// Reasons why rows were skipped with their numbers, most frequent first.
[[nodiscard]] std::vector<std::pair<std::string, int>> skip_reasons(
    const std::vector<SkippedMeasurement>& skipped);
/// "438 of 6045 measurements predicted, 5607 skipped"
[[nodiscard]] std::string totals(std::size_t predicted, std::size_t skipped);

/// The groups of all parts, for a terminal.
[[nodiscard]] std::string group_table(const std::vector<GroupSummary>& summary,
                                      const std::vector<SummaryPart>& parts);
/// The reasons, most frequent first, the first ones of many.
[[nodiscard]] std::string reason_list(const std::vector<SkippedMeasurement>& skipped);

/// 0.0123 -> "1.2"; "-" for nothing. `sign` stands before numbers above 0.
[[nodiscard]] std::string percent(const std::optional<double>& share, const char* sign = "");
[[nodiscard]] std::string fixed(double value, int digits, const char* sign = "");
/// "FILE:LINE", without the file's folder.
[[nodiscard]] std::string place_text(const std::string& file, unsigned line);

/// Markdown: one line of a table, its header (the first `words` columns to the left, the others to the
/// right), and the table of one part.
[[nodiscard]] std::string markdown_line(const std::vector<std::string>& cells);
[[nodiscard]] std::string markdown_header(const std::vector<std::string>& cells, std::size_t words);
[[nodiscard]] std::string markdown_part(const std::vector<GroupSummary>& summary, const SummaryPart& part);
[[nodiscard]] std::string markdown_reasons(const std::vector<SkippedMeasurement>& skipped);

}  // namespace stepcast::detail
