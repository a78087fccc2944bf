#pragma once

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
[[nodiscard]] std::vector<std::pair<std::string, int>> skip_reasons(const Validation& validation);
/// "438 of 6045 measurements predicted, 5607 skipped"
[[nodiscard]] std::string totals(const Validation& validation);

}  // namespace stepcast::detail
