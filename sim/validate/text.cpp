#include <algorithm>

#include "sim/report/text_table.hpp"
#include "sim/validate/output.hpp"
#include "sim/validate/summary_text.hpp"

namespace stepcast {
namespace {

constexpr std::size_t listed_reasons = 25;
constexpr std::size_t word_columns = 4;  ///< of a row's cells, set to the left

std::string group_table(const Validation& validation) {
  TextTable table;
  table.add_column("group", TextTable::Align::left);
  for (std::string name : detail::group_header()) {
    std::replace(name.begin(), name.end(), ' ', '\n');
    table.add_column(name, TextTable::Align::right);
  }
  for (const detail::SummaryPart& part : detail::summary_parts()) {
    if (!part.prefix.empty() && !validation.rows.empty()) table.add_gap();
    for (const GroupSummary& group : validation.summary) {
      if (!detail::belongs(group, part)) continue;
      std::vector<std::string> cells = detail::group_cells(group, part);
      cells.front() = group.group;
      table.add_row(std::move(cells));
    }
  }
  return table.text();
}

std::string furthest_table(const Validation& validation) {
  TextTable table;
  const auto& header = detail::row_header();
  for (std::size_t i = 0; i < header.size(); ++i) {
    table.add_column(header[i], i < word_columns ? TextTable::Align::left : TextTable::Align::right);
  }
  for (const ValidatedRow* row : detail::furthest_rows(validation)) table.add_row(detail::row_cells(*row));
  return table.text();
}

std::string reason_list(const Validation& validation) {
  const auto reasons = detail::skip_reasons(validation);
  std::string text;
  for (std::size_t i = 0; i < std::min(reasons.size(), listed_reasons); ++i) {
    const std::string count = std::to_string(reasons[i].second);
    text +=
        std::string(count.size() < 6 ? 6 - count.size() : 1, ' ') + count + "  " + reasons[i].first + "\n";
  }
  if (reasons.size() > listed_reasons) {
    text += "        and " + std::to_string(reasons.size() - listed_reasons) +
            " more reasons (--json lists all)\n";
  }
  return text;
}

}  // namespace

std::string to_text(const Validation& validation) {
  std::string text =
      detail::totals(validation) +
      "\nerror = predicted / measured step seconds - 1; bias = its median (above 0: predicted too "
      "slow)\n\n" +
      group_table(validation);
  if (!validation.rows.empty()) text += "\nfurthest off:\n" + furthest_table(validation);
  if (!validation.skipped.empty()) text += "\nskipped:\n" + reason_list(validation);
  return text;
}

}  // namespace stepcast
