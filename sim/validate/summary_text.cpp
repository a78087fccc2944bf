#include "sim/validate/summary_text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "base/print.hpp"

namespace stepcast::detail {
namespace {

constexpr std::size_t listed_rows = 15;

std::string fixed(double value, int digits, const char* sign = "") {
  char text[64];
  std::snprintf(text, sizeof text, "%s%.*f", value > 0 ? sign : "", digits, value);
  return text;
}

std::string percent(const std::optional<double>& share, const char* sign = "") {
  return share ? fixed(100 * *share, 1, sign) : "-";
}

std::string place_of(const ValidatedRow& row) {
  const std::size_t slash = row.file.rfind('/');
  return (slash == std::string::npos ? row.file : row.file.substr(slash + 1)) + ":" +
         std::to_string(row.line);
}

}  // namespace

const std::vector<SummaryPart>& summary_parts() {
  static const std::vector<SummaryPart> all = {
      {"", "All"},         {"source:", "Source"},     {"gpu:", "GPU"},
      {"model:", "Model"}, {"software:", "Software"}, {"strategy:", "Strategy"},
      {"scale:", "Scale"}};
  return all;
}

bool belongs(const GroupSummary& group, const SummaryPart& part) {
  return part.prefix.empty() ? group.group.find(':') == std::string::npos
                             : group.group.starts_with(part.prefix);
}

const std::vector<std::string>& group_header() {
  static const std::vector<std::string> words = {"rows", "median |error| %", "p90 |error| %", "bias %",
                                                 "Kendall tau"};
  return words;
}

const std::vector<std::string>& row_header() {
  static const std::vector<std::string> words = {"row",      "model",     "GPUs",   "software, strategy",
                                                 "measured", "predicted", "error %"};
  return words;
}

std::vector<std::string> group_cells(const GroupSummary& group, const SummaryPart& part) {
  return {group.group.substr(part.prefix.size()),
          std::to_string(group.rows),
          percent(group.median_abs_error),
          percent(group.p90_abs_error),
          percent(group.bias, "+"),
          group.kendall_tau ? fixed(*group.kendall_tau, 2) : "-"};
}

std::vector<std::string> row_cells(const ValidatedRow& row) {
  return {place_of(row),
          row.model,
          std::to_string(row.gpus) + " x " + row.gpu,
          row.software + " " + row.strategy,
          print_time(row.measured),
          print_time(row.predicted),
          percent(row.relative_error, "+")};
}

std::vector<const ValidatedRow*> furthest_rows(const Validation& validation) {
  std::vector<const ValidatedRow*> rows;
  for (const ValidatedRow& row : validation.rows) rows.push_back(&row);
  const auto distance = [](const ValidatedRow* row) {
    return std::abs(std::log(row->predicted / row->measured));
  };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const ValidatedRow* a, const ValidatedRow* b) { return distance(a) > distance(b); });
  rows.resize(std::min(rows.size(), listed_rows));
  return rows;
}

std::vector<std::pair<std::string, int>> skip_reasons(const Validation& validation) {
  std::map<std::string, int> count;
  for (const SkippedMeasurement& skipped : validation.skipped) ++count[skipped.reason];
  std::vector<std::pair<std::string, int>> sorted(count.begin(), count.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return sorted;
}

std::string totals(const Validation& validation) {
  return std::to_string(validation.rows.size()) + " of " +
         std::to_string(validation.rows.size() + validation.skipped.size()) + " measurements predicted, " +
         std::to_string(validation.skipped.size()) + " skipped";
}

}  // namespace stepcast::detail
