#include "sim/report/text_table.hpp"
#include "sim/validate/output.hpp"
#include "sim/validate/summary_text.hpp"

namespace stepcast {
namespace {

constexpr std::size_t word_columns = 4;  ///< of a row's cells, set to the left

std::string furthest_table(const Validation& validation) {
  TextTable table;
  const auto& header = detail::row_header();
  for (std::size_t i = 0; i < header.size(); ++i) {
    table.add_column(header[i], i < word_columns ? TextTable::Align::left : TextTable::Align::right);
  }
  for (const ValidatedRow* row : detail::furthest_rows(validation)) table.add_row(detail::row_cells(*row));
  return table.text();
}

}  // namespace

std::string to_text(const Validation& validation) {
  std::string text =
      detail::totals(validation.rows.size(), validation.skipped.size()) +
      "\nerror = predicted / measured step seconds - 1; bias = its median (above 0: predicted too "
      "slow)\n\n" +
      detail::group_table(validation.summary, detail::summary_parts());
  if (!validation.rows.empty()) text += "\nfurthest off:\n" + furthest_table(validation);
  if (!validation.skipped.empty()) text += "\nskipped:\n" + detail::reason_list(validation.skipped);
  return text;
}

}  // namespace stepcast
