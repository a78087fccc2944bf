#include "sim/report/text_table.hpp"

#include <algorithm>
#include <sstream>

#include "base/diagnostic.hpp"

namespace stepcast {

void TextTable::add_column(std::string header, Align align) {
  Column column{{}, align};
  std::istringstream lines(header);
  for (std::string line; std::getline(lines, line);) column.header.push_back(line);
  columns_.push_back(std::move(column));
}

void TextTable::add_row(std::vector<std::string> cells) {
  STEPCAST_CHECK(cells.size() == columns_.size(), "a row must have a cell for each column");
  rows_.push_back(std::move(cells));
}

void TextTable::add_gap() {
  if (!rows_.empty() && !rows_.back().empty()) rows_.emplace_back();
}

std::string TextTable::text() const {
  std::vector<std::size_t> widths;
  std::size_t header_lines = 0;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t width = 0;
    for (const std::string& line : columns_[c].header) width = std::max(width, line.size());
    for (const auto& row : rows_) {
      if (!row.empty()) width = std::max(width, row[c].size());
    }
    widths.push_back(width);
    header_lines = std::max(header_lines, columns_[c].header.size());
  }

  std::string text;
  const auto end_line = [&] {
    while (!text.empty() && text.back() == ' ') text.pop_back();
    text += '\n';
  };
  const auto put = [&](std::size_t c, const std::string& cell) {
    if (c > 0) text += "  ";
    const std::string padding(widths[c] - cell.size(), ' ');
    text += columns_[c].align == Align::left ? cell + padding : padding + cell;
  };
  for (std::size_t line = 0; line < header_lines; ++line) {
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const auto& header = columns_[c].header;
      const std::size_t above = header_lines - header.size();  // short headers stand on the last line
      put(c, line < above ? "" : header[line - above]);
    }
    end_line();
  }
  for (std::size_t c = 0; c < columns_.size(); ++c) put(c, std::string(widths[c], '-'));
  end_line();
  for (const auto& row : rows_) {
    for (std::size_t c = 0; c < row.size(); ++c) put(c, row[c]);
    end_line();
  }
  return text;
}

std::string header_for(const std::string& key) {
  constexpr std::size_t widest = 14;
  if (key == "training.gradient_accumulation_steps") return "accumu-\nlation";
  const std::string word = key.substr(key.rfind('.') + 1);
  if (word.size() <= widest) return word;
  std::string header, line;
  std::istringstream parts(word);
  for (std::string part; std::getline(parts, part, '_');) {
    if (line.empty()) {
      line = part;
    } else if (line.size() + 1 + part.size() <= widest) {
      line += '_' + part;
    } else {
      header += line + "_\n";
      line = part;
    }
  }
  return header + line;
}

}  // namespace stepcast
