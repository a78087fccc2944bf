#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/print.hpp"
#include "sim/report/nccl_tests.hpp"
#include "sim/report/text_table.hpp"
#include "sim/validate/csv.hpp"
#include "sim/validate/output.hpp"
#include "sim/validate/summary_text.hpp"

namespace stepcast {
namespace {

constexpr std::size_t listed_rows = 15;
constexpr std::size_t word_columns = 3;

const std::vector<std::string>& row_header() {
  static const std::vector<std::string> words = {"row",      "operation, GPUs", "algorithm", "size",
                                                 "measured", "predicted",       "error %"};
  return words;
}

std::vector<std::string> row_cells(const ValidatedCollective& row) {
  return {detail::place_text(row.file, row.line) + " " + row.set,
          std::string(nccl_tests_name(row.operation)) + ", " + std::to_string(row.nodes) + " x " +
              std::to_string(row.ranks / row.nodes) + " " + row.gpu,
          std::string(name_of(row.algorithm)) + " " + std::string(name_of(row.protocol)),
          print_size(row.bytes),
          print_time(row.measured),
          print_time(row.predicted),
          detail::percent(row.relative_error, "+")};
}

/// The rows that are off by the largest factor, either way; of each set the worst.
std::vector<const ValidatedCollective*> furthest(const CollectiveValidation& validation) {
  std::vector<const ValidatedCollective*> rows;
  for (const ValidatedCollective& row : validation.rows) rows.push_back(&row);
  std::stable_sort(rows.begin(), rows.end(), [](const auto* a, const auto* b) {
    return std::abs(std::log(a->predicted / a->measured)) > std::abs(std::log(b->predicted / b->measured));
  });
  std::vector<const ValidatedCollective*> worst;
  for (const ValidatedCollective* row : rows) {
    const bool seen = std::any_of(worst.begin(), worst.end(),
                                  [&](const ValidatedCollective* other) { return other->set == row->set; });
    if (!seen && worst.size() < listed_rows) worst.push_back(row);
  }
  return worst;
}

const std::vector<std::string>& residual_header() {
  static const std::vector<std::string> words = {"size",     "rows",          "5 %",           "95 %",
                                                 "inside %", "5 % corrected", "95 % corrected"};
  return words;
}

std::vector<std::string> residual_cells(const BandResiduals& band) {
  const auto ratio = [](const std::optional<double>& value) {
    return value ? detail::fixed(*value, 2) : std::string("-");
  };
  std::optional<double> inside;
  if (band.rows > 0) inside = static_cast<double>(band.inside) / band.rows;
  return {band.band,
          std::to_string(band.rows),
          ratio(band.low),
          ratio(band.high),
          detail::percent(inside),
          ratio(band.corrected_low),
          ratio(band.corrected_high)};
}

std::string text_table(const std::vector<std::string>& header, std::size_t words,
                       const std::vector<std::vector<std::string>>& rows) {
  TextTable table;
  for (std::size_t i = 0; i < header.size(); ++i)
    table.add_column(header[i], i < words ? TextTable::Align::left : TextTable::Align::right);
  for (const auto& row : rows) table.add_row(row);
  return table.text();
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

constexpr std::string_view how_to_read = R"(
- error = predicted / measured time - 1, row by row, in place and out of place alike; bias is its median (above 0:
  predicted too slow); Kendall's tau-b ranks bus bandwidths.
- `judged`: sets of 20 rows or more whose times are as they were measured (not computed back from a printed bandwidth),
  with nothing assumed. These are what promises are made of; `judged assumed` stands beside them.
- `plateau`: the best bus bandwidth of a set that reaches 128 MiB, measured over predicted - 1.
- `corrected`: what `stepcast collectives --compare LOG --fit` gives: five sizes of a set correct the model, the others
  are judged.
- `sim/validate/collective_rules.toml` says what the columns mean, fills blank card counts and speeds (then listed in
  `assumed`), and adds what belongs to the benchmark: several GPUs driven by one process, a harness in Python, a virtual
  machine's network.
)";

}  // namespace

std::string to_csv(const CollectiveValidation& validation) {
  std::string text =
      "file,line,set_id,operation,gpu,nodes,ranks,transport,bytes,in_place,measured_s,predicted_s,relative_"
      "error,"
      "low_s,high_s,corrected_s,algorithm,protocol,channels,timing,judged,assumed,settings\n";
  for (const ValidatedCollective& row : validation.rows) {
    std::string assumed, settings;
    for (const std::string& assumption : row.assumed) assumed += (assumed.empty() ? "" : "; ") + assumption;
    for (const auto& [key, value] : row.settings)
      settings += (settings.empty() ? "" : "; ") + key + " = " + value.to_text();
    const std::vector<std::string> cells = {csv_cell(row.file),
                                            std::to_string(row.line),
                                            csv_cell(row.set),
                                            std::string(nccl_tests_name(row.operation)),
                                            row.gpu,
                                            std::to_string(row.nodes),
                                            std::to_string(row.ranks),
                                            csv_cell(row.transport),
                                            std::to_string(std::llround(row.bytes.value)),
                                            row.in_place ? "1" : "0",
                                            number(row.measured.value),
                                            number(row.predicted.value),
                                            number(row.relative_error),
                                            number(row.low.value),
                                            number(row.high.value),
                                            row.corrected ? number(row.corrected->value) : "",
                                            std::string(name_of(row.algorithm)),
                                            std::string(name_of(row.protocol)),
                                            std::to_string(row.channels),
                                            csv_cell(row.timing),
                                            row.judged ? "yes" : "no",
                                            csv_cell(assumed),
                                            csv_cell(settings)};
    for (std::size_t i = 0; i < cells.size(); ++i) text += (i > 0 ? "," : "") + cells[i];
    text += "\n";
  }
  return text;
}

std::string to_text(const CollectiveValidation& validation) {
  std::string text =
      "collectives: " + detail::totals(validation.rows.size(), validation.skipped.size()) +
      "\nerror = predicted / measured time - 1; bias = its median (above 0: predicted too slow)\n"
      "judged: sets of 20 rows or more, trusted timing, nothing assumed\n\n" +
      detail::group_table(validation.summary, detail::collective_summary_parts());
  if (!validation.rows.empty()) {
    std::vector<std::vector<std::string>> rows;
    for (const BandResiduals& band : validation.residuals) rows.push_back(residual_cells(band));
    text +=
        "\nmeasured / predicted of judged rows with nothing assumed, how many lie inside the interval that "
        "is printed, and "
        "measured / corrected:\n" +
        text_table(residual_header(), 1, rows);
    rows.clear();
    for (const ValidatedCollective* row : furthest(validation)) rows.push_back(row_cells(*row));
    text += "\nfurthest off, one row a set:\n" + text_table(row_header(), word_columns, rows);
  }
  if (!validation.skipped.empty()) text += "\nskipped:\n" + detail::reason_list(validation.skipped);
  return text;
}

std::string to_markdown(const CollectiveValidation& validation, std::string_view date,
                        std::string_view command) {
  std::string text = "## Collectives\n\nMade on " + std::string(date) + " by `" + std::string(command) +
                     "`: " + detail::totals(validation.rows.size(), validation.skipped.size()) + ".\n" +
                     std::string(how_to_read);
  for (const detail::SummaryPart& part : detail::collective_summary_parts())
    text += "\n" + detail::markdown_part(validation.summary, part);
  text +=
      "\nMeasured / predicted of judged rows with nothing assumed, how many lie inside the interval that is "
      "printed, and measured "
      "/ corrected:\n\n" +
      detail::markdown_header(residual_header(), 1);
  for (const BandResiduals& band : validation.residuals) text += detail::markdown_line(residual_cells(band));
  text += "\nFurthest off, one row a set:\n\n" + detail::markdown_header(row_header(), word_columns);
  for (const ValidatedCollective* row : furthest(validation)) text += detail::markdown_line(row_cells(*row));
  text += "\nSkipped:\n\n" + detail::markdown_reasons(validation.skipped);
  return text;
}

}  // namespace stepcast
