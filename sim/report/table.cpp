#include <cstdio>

#include "base/print.hpp"
#include "sim/report/report.hpp"
#include "sim/report/sentences.hpp"
#include "sim/report/text_table.hpp"
#include "sim/report/wording.hpp"

namespace stepcast {
namespace {

constexpr std::size_t text_width = 110;

/// Where the time goes needs no decimals.
std::string print_percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.0f %%", share * 100);
  return text;
}

std::string share_or_dash(const std::optional<double>& share) { return share ? print_share(*share) : "-"; }

/// Which columns there are; rows follow the same order.
struct Columns {
  std::vector<std::string> keys;
  bool figures{};                 ///< at least one point exists
  bool tokens{};                  ///< tokens/s, else samples/s
  bool both_scalings{};           ///< weak and strong side by side, else one efficiency
  std::optional<Bytes> capacity;  ///< of all points alike: stands in the header, else in each row
};

Columns columns_for(const Report& report) {
  Columns columns;
  columns.keys = varying_keys(report);
  bool first = true;
  for (const PointReport& point : report.points) {
    if (!point.invalid.empty()) continue;
    columns.figures = true;
    if (first) columns.capacity = point.memory.capacity;
    if (columns.capacity != point.memory.capacity) columns.capacity.reset();
    first = false;
    columns.tokens = columns.tokens || point.tokens_per_s.has_value();
    columns.both_scalings = columns.both_scalings || point.weak_efficiency.has_value();
  }
  return columns;
}

bool numeric(const Report& report, const std::string& key) {
  for (const PointReport& point : report.points) {
    for (const auto& [name, value] : point.settings) {
      if (name == key && !value.is_number()) return false;
    }
  }
  return true;
}

void add_header(TextTable& table, const Report& report, const Columns& columns) {
  using Align = TextTable::Align;
  table.add_column("", Align::left);  // the mark of the best
  for (const std::string& key : columns.keys) {
    table.add_column(header_for(key), numeric(report, key) ? Align::right : Align::left);
  }
  if (!columns.figures) {  // no figure would stand in any other column
    table.add_column("", Align::left);
    return;
  }
  table.add_column("GPUs", Align::right);
  table.add_column(columns.tokens ? "tokens/s" : "samples/s", Align::right);
  if (columns.both_scalings) {
    table.add_column("scaling\nweak", Align::right);
    table.add_column("scaling\nstrong", Align::right);
  } else {
    table.add_column("efficiency", Align::right);
  }
  table.add_column("step", Align::right);
  for (const char* part : {"com-\npute", "exposed\ncomm.", "opti-\nmizer", "other"}) {
    table.add_column(part, Align::right);
  }
  if (columns.capacity) {
    table.add_column("memory of\n" + print_size(*columns.capacity), Align::right);
  } else {
    table.add_column("memory", Align::right);
    table.add_column("of", Align::right);
  }
  table.add_column("bottleneck", Align::left);
}

std::vector<std::string> cells_of(const PointReport& point, const Columns& columns, bool best) {
  std::vector<std::string> cells{best ? "*" : ""};
  for (const std::string& key : columns.keys) cells.push_back(setting_text(point, key));
  if (!point.invalid.empty()) {
    const std::size_t figures = 8U + (columns.both_scalings ? 2U : 1U) + (columns.capacity ? 0U : 1U);
    if (columns.figures) cells.resize(cells.size() + figures, "-");
    cells.push_back("cannot exist: " + point.invalid);
    return cells;
  }
  cells.push_back(std::to_string(point.gpus));
  cells.push_back(print_count(columns.tokens ? point.tokens_per_s.value_or(0) : point.samples_per_s));
  if (columns.both_scalings) {
    cells.push_back(share_or_dash(point.weak_efficiency));
    cells.push_back(share_or_dash(point.strong_efficiency));
  } else {
    cells.push_back(share_or_dash(point.scaling_efficiency));
  }
  const Breakdown& parts = point.breakdown;
  const auto share = [&](Seconds part) { return print_percent(part / point.step_time); };
  cells.push_back(print_time(point.step_time));
  cells.push_back(share(parts.compute));
  cells.push_back(share(parts.exposed_communication));
  cells.push_back(share(parts.optimizer));
  cells.push_back(share(parts.pipeline_bubble + parts.host + parts.input));
  cells.push_back(print_size(point.memory.allocated_peak() + point.memory.framework));
  if (!columns.capacity) cells.push_back(print_size(point.memory.capacity));
  cells.push_back(point.bottleneck + (point.memory.fits() ? "" : "  DOES NOT FIT"));
  return cells;
}

/// Words of `text` in lines of at most text_width, the first after "- ".
std::string bullet(const std::string& text) {
  std::string out = "- ";
  std::size_t column = 2;
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t end = text.find(' ', at);
    if (end == std::string::npos) end = text.size();
    const std::size_t length = end - at;
    if (column > 2 && column + 1 + length > text_width) {
      out += "\n  ";
      column = 2;
    } else if (column > 2) {
      out += ' ';
      ++column;
    }
    out.append(text, at, length);
    column += length;
    at = end + 1;
  }
  return out + '\n';
}

}  // namespace

std::string to_table(const Report& report) {
  TextTable table;
  const Columns columns = columns_for(report);
  add_header(table, report, columns);
  const auto best = report.points.size() > 1 ? best_point(report) : std::nullopt;
  for (std::size_t i = 0; i < report.points.size(); ++i) {
    const PointReport& point = report.points[i];
    const bool new_block =
        i > 0 && columns.keys.size() > 1 &&
        setting_text(point, columns.keys.front()) != setting_text(report.points[i - 1], columns.keys.front());
    if (new_block) table.add_gap();
    table.add_row(cells_of(point, columns, best == i));
  }
  std::string text = report.title.empty() ? "" : report.title + "\n\n";
  text += table.text() + "\n";
  if (best) {
    text += "* the best of what fits. Efficiency is throughput per GPU over that of the smallest cluster";
    if (columns.both_scalings)
      text += ",\n  at the same batch per GPU (weak) or the same global batch (strong)";
    text += ".\n\n";
  }
  for (const std::string& sentence : sentences(report)) text += bullet(sentence);
  return text;
}

}  // namespace stepcast
