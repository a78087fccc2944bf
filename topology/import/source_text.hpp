#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.hpp"

namespace stepcast {

/// A text that people paste, by lines: without carriage returns, byte order mark and the colours of a
/// terminal, so that columns are those that an editor shows.
class SourceText {
 public:
  SourceText(std::string_view text, std::string file);

  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] const std::vector<std::string>& lines() const { return lines_; }
  /// `line` and `column` count from 0.
  [[nodiscard]] SourcePlace place(std::size_t line, std::size_t column = 0, std::size_t length = 1) const;
  [[nodiscard]] SourcePlace whole() const;
  [[nodiscard]] bool is_binary() const { return binary_; }

 private:
  std::string file_;
  std::vector<std::string> lines_;
  bool binary_{};
};

/// A word of a line and the column (from 0) where it begins.
struct Word {
  std::string text;
  std::size_t column{};
};
/// Words between blanks and tabs.
[[nodiscard]] std::vector<Word> words_of(std::string_view line);

[[nodiscard]] std::string trim(std::string_view text);

}  // namespace stepcast
