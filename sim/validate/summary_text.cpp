#include "sim/validate/summary_text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "base/print.hpp"
#include "sim/report/text_table.hpp"

namespace stepcast::detail {
namespace {

constexpr std::size_t listed_rows = 15;

constexpr std::size_t listed_reasons = 25;

}  // namespace

std::string fixed(double value, int digits, const char* sign) {
  char text[64];
  std::snprintf(text, sizeof text, "%s%.*f", value > 0 ? sign : "", digits, value);
  return text;
}

std::string percent(const std::optional<double>& share, const char* sign) {
  return share ? fixed(100 * *share, 1, sign) : "-";
}

std::string place_text(const std::string& file, unsigned line) {
  const std::size_t slash = file.rfind('/');
  return (slash == std::string::npos ? file : file.substr(slash + 1)) + ":" + std::to_string(line);
}

const std::vector<SummaryPart>& summary_parts() {
  static const std::vector<SummaryPart> all = {
      {"", "All"},         {"source:", "Source"},     {"gpu:", "GPU"},
      {"model:", "Model"}, {"software:", "Software"}, {"strategy:", "Strategy"},
      {"scale:", "Scale"}};
  return all;
}

const std::vector<SummaryPart>& collective_summary_parts() {
  static const std::vector<SummaryPart> all = {
      {"", "All"},
      {"judged:", "Judged: sets of 20 rows or more, trusted timing, nothing assumed"},
      {"judged assumed:", "The same where something was assumed"},
      {"plateau:", "Plateau, one row a set"},
      {"corrected:", "Corrected by five measured sizes, the others judged"},
      {"band:", "Size"},
      {"timing:", "Timing"},
      {"transport:", "Transport"},
      {"operation:", "Operation"},
      {"gpu:", "GPU"},
      {"set:", "Set"}};
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
  return {place_text(row.file, row.line),
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

std::vector<std::pair<std::string, int>> skip_reasons(const std::vector<SkippedMeasurement>& skipped) {
  std::map<std::string, int> count;
  for (const SkippedMeasurement& one : skipped) ++count[one.reason];
  std::vector<std::pair<std::string, int>> sorted(count.begin(), count.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return sorted;
}

std::string totals(std::size_t predicted, std::size_t skipped) {
  return std::to_string(predicted) + " of " + std::to_string(predicted + skipped) +
         " measurements predicted, " + std::to_string(skipped) + " skipped";
}

std::string group_table(const std::vector<GroupSummary>& summary, const std::vector<SummaryPart>& parts) {
  TextTable table;
  table.add_column("group", TextTable::Align::left);
  for (std::string name : group_header()) {
    std::replace(name.begin(), name.end(), ' ', '\n');
    table.add_column(name, TextTable::Align::right);
  }
  for (const SummaryPart& part : parts) {
    bool first = !part.prefix.empty();
    for (const GroupSummary& group : summary) {
      if (!belongs(group, part)) continue;
      if (first) table.add_gap();
      first = false;
      std::vector<std::string> cells = group_cells(group, part);
      cells.front() = group.group;
      table.add_row(std::move(cells));
    }
  }
  return table.text();
}

std::string reason_list(const std::vector<SkippedMeasurement>& skipped) {
  const auto reasons = skip_reasons(skipped);
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

std::string markdown_line(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (std::string cell : cells) {
    for (std::size_t bar = cell.find('|'); bar != std::string::npos; bar = cell.find('|', bar + 2)) {
      cell.insert(bar, "\\");
    }
    line += " " + cell + " |";
  }
  return line + "\n";
}

std::string markdown_header(const std::vector<std::string>& cells, std::size_t words) {
  std::string text = markdown_line(cells) + "|";
  for (std::size_t i = 0; i < cells.size(); ++i) text += i < words ? "---|" : "---:|";
  return text + "\n";
}

std::string markdown_part(const std::vector<GroupSummary>& summary, const SummaryPart& part) {
  std::vector<std::string> header = {part.title};
  header.insert(header.end(), group_header().begin(), group_header().end());
  std::string text = markdown_header(header, 1);
  for (const GroupSummary& group : summary) {
    if (belongs(group, part)) text += markdown_line(group_cells(group, part));
  }
  return text;
}

std::string markdown_reasons(const std::vector<SkippedMeasurement>& skipped) {
  std::string text = markdown_header({"reason", "rows"}, 1);
  for (const auto& [reason, count] : skip_reasons(skipped))
    text += markdown_line({reason, std::to_string(count)});
  return text;
}

}  // namespace stepcast::detail
