#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "base/print.hpp"
#include "sim/report/text_table.hpp"
#include "sim/validate/output.hpp"

namespace stepcast {
namespace {

constexpr std::size_t listed_rows = 15;
constexpr std::size_t listed_reasons = 25;

std::string fixed(double value, int digits, const char* sign = "") {
  char text[64];
  std::snprintf(text, sizeof text, "%s%.*f", value > 0 ? sign : "", digits, value);
  return text;
}

std::string percent(const std::optional<double>& share, const char* sign = "") {
  return share ? fixed(100 * *share, 1, sign) : "-";
}

/// Kinds of groups with the words that head their part of the table.
struct Part {
  std::string prefix, title;
};
const std::vector<Part>& parts() {
  static const std::vector<Part> all = {
      {"", "All"},         {"source:", "Source"},     {"gpu:", "GPU"},
      {"model:", "Model"}, {"software:", "Software"}, {"strategy:", "Strategy"},
      {"scale:", "Scale"}};
  return all;
}

bool belongs(const GroupSummary& group, const Part& part) {
  return part.prefix.empty() ? group.group.find(':') == std::string::npos
                             : group.group.starts_with(part.prefix);
}

std::vector<std::string> cells_of(const GroupSummary& group, const Part& part) {
  return {group.group.substr(part.prefix.size()),
          std::to_string(group.rows),
          percent(group.median_abs_error),
          percent(group.p90_abs_error),
          percent(group.bias, "+"),
          group.kendall_tau ? fixed(*group.kendall_tau, 2) : "-"};
}

std::vector<const ValidatedRow*> furthest(const Validation& validation) {
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

std::vector<std::pair<std::string, int>> reasons(const Validation& validation) {
  std::map<std::string, int> count;
  for (const SkippedMeasurement& skipped : validation.skipped) ++count[skipped.reason];
  std::vector<std::pair<std::string, int>> sorted(count.begin(), count.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return sorted;
}

std::string place_of(const ValidatedRow& row) {
  const std::size_t slash = row.file.rfind('/');
  return (slash == std::string::npos ? row.file : row.file.substr(slash + 1)) + ":" +
         std::to_string(row.line);
}

std::string totals(const Validation& validation) {
  return std::to_string(validation.rows.size()) + " of " +
         std::to_string(validation.rows.size() + validation.skipped.size()) + " measurements predicted, " +
         std::to_string(validation.skipped.size()) + " skipped";
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

const std::vector<std::string> group_header = {"rows", "median |error| %", "p90 |error| %", "bias %",
                                               "Kendall tau"};
const std::vector<std::string> row_header = {"row",      "model",     "GPUs",   "software, strategy",
                                             "measured", "predicted", "error %"};

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

}  // namespace

std::string to_text(const Validation& validation) {
  TextTable table;
  table.add_column("group", TextTable::Align::left);
  for (const std::string& name : group_header) {
    std::string broken = name;
    std::replace(broken.begin(), broken.end(), ' ', '\n');
    table.add_column(broken, TextTable::Align::right);
  }
  for (const Part& part : parts()) {
    if (!part.prefix.empty()) table.add_gap();
    for (const GroupSummary& group : validation.summary) {
      if (!belongs(group, part)) continue;
      std::vector<std::string> cells = cells_of(group, part);
      cells.front() = part.prefix + cells.front();
      table.add_row(std::move(cells));
    }
  }
  std::string text =
      totals(validation) +
      "\nerror = predicted / measured step seconds - 1; bias = its median (above 0: predicted too "
      "slow)\n\n" +
      table.text();
  if (!validation.rows.empty()) {
    TextTable worst;
    for (std::size_t i = 0; i < row_header.size(); ++i) {
      worst.add_column(row_header[i], i < 4 ? TextTable::Align::left : TextTable::Align::right);
    }
    for (const ValidatedRow* row : furthest(validation)) worst.add_row(row_cells(*row));
    text += "\nfurthest off:\n" + worst.text();
  }
  const auto skipped = reasons(validation);
  if (!skipped.empty()) text += "\nskipped:\n";
  for (std::size_t i = 0; i < std::min(skipped.size(), listed_reasons); ++i) {
    text += std::string(6 - std::min<std::size_t>(5, std::to_string(skipped[i].second).size()), ' ') +
            std::to_string(skipped[i].second) + "  " + skipped[i].first + "\n";
  }
  if (skipped.size() > listed_reasons) {
    text += "        and " + std::to_string(skipped.size() - listed_reasons) +
            " more reasons (--json lists all)\n";
  }
  return text;
}

std::string to_markdown(const Validation& validation, std::string_view date, std::string_view command) {
  std::string text = "# Fidelity: predictions against published measurements\n\n";
  text +=
      "Made on " + std::string(date) + " by `" + std::string(command) + "`. " + totals(validation) + ".\n";
  for (const Part& part : parts()) {
    std::vector<std::string> header = {part.title};
    header.insert(header.end(), group_header.begin(), group_header.end());
    text += "\n" + markdown_header(header, 1);
    for (const GroupSummary& group : validation.summary) {
      if (belongs(group, part)) text += markdown_line(cells_of(group, part));
    }
  }
  text += "\n## Furthest off\n\n" + markdown_header(row_header, 4);
  for (const ValidatedRow* row : furthest(validation)) text += markdown_line(row_cells(*row));
  text += "\n## Skipped\n\n" + markdown_header({"reason", "rows"}, 1);
  for (const auto& [reason, count] : reasons(validation))
    text += markdown_line({reason, std::to_string(count)});
  return text;
}

}  // namespace stepcast
