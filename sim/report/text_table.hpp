#pragma once

#include <string>
#include <vector>

namespace stepcast {

/// Columns of ASCII text for a terminal: a header of several lines (parted by '\n', set at the bottom),
/// numbers to the right, words to the left, two blanks between columns, no blanks at the ends of lines.
class TextTable {
 public:
  enum class Align { left, right };

  void add_column(std::string header, Align align);
  /// One cell for each column.
  void add_row(std::vector<std::string> cells);
  /// An empty line before the next row.
  void add_gap();
  [[nodiscard]] std::string text() const;

 private:
  struct Column {
    std::vector<std::string> header;
    Align align{};
  };
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;  ///< an empty row is a gap
};

/// A key as a column header: the last part of its dotted path, long ones shortened or broken at underscores.
[[nodiscard]] std::string header_for(const std::string& key);

}  // namespace stepcast
