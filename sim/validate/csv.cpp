#include "sim/validate/csv.hpp"

#include <utility>

#include "base/diagnostic.hpp"

namespace stepcast {
namespace {

class CsvReader {
 public:
  CsvReader(std::string_view text, const std::string& file) : text_(text), file_(file) {
    if (text_.starts_with("\xEF\xBB\xBF")) text_.remove_prefix(3);
  }

  std::vector<CsvRecord> read() {
    while (at_ < text_.size()) {
      if (at_line_end()) {
        pass_line_end();
        continue;
      }
      records_.push_back(read_record());
      check_size(records_.back());
    }
    if (!faults_.empty()) throw ScenarioError(std::move(faults_));
    return std::move(records_);
  }

 private:
  [[nodiscard]] bool at_line_end() const {
    return text_[at_] == '\n' || (text_[at_] == '\r' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n');
  }

  void pass_line_end() {
    at_ += text_[at_] == '\r' ? 2 : 1;
    ++line_;
    line_start_ = at_;
  }

  [[nodiscard]] SourcePlace place(unsigned line, std::size_t column) const {
    SourcePlace found;
    found.file = file_;
    found.line = line;
    found.column = static_cast<unsigned>(column);
    return found;
  }

  CsvRecord read_record() {
    CsvRecord record;
    record.line = line_;
    while (true) {
      record.cells.push_back(text_.substr(at_).starts_with('"') ? read_quoted() : read_plain());
      if (at_ >= text_.size()) return record;
      if (at_line_end()) {
        pass_line_end();
        return record;
      }
      ++at_;  // the comma
      if (at_ >= text_.size()) {
        record.cells.emplace_back();
        return record;
      }
    }
  }

  std::string read_plain() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != ',' && !at_line_end()) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }

  std::string read_quoted() {
    const SourcePlace opened = place(line_, at_ - line_start_ + 1);
    std::string cell;
    for (++at_; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '"') {
        if (at_ + 1 >= text_.size() || text_[at_ + 1] != '"') break;
        ++at_;
      } else if (c == '\n') {
        ++line_;
        line_start_ = at_ + 1;
      }
      cell += c;
    }
    if (at_ >= text_.size()) {
      throw ScenarioError(
          Diagnostic{opened, "this quote is never closed", "a quote inside a cell is written twice"});
    }
    ++at_;  // the closing quote
    if (at_ < text_.size() && text_[at_] != ',' && !at_line_end()) {
      throw ScenarioError(
          Diagnostic{place(line_, at_ - line_start_ + 1), "text after a closing quote",
                     "expected a comma or the end of the line; a quote inside a cell is written twice"});
    }
    return cell;
  }

  void check_size(const CsvRecord& record) {
    const std::size_t expected = records_.front().cells.size();
    if (record.cells.size() == expected) return;
    faults_.push_back({place(record.line, 1),
                       "this record has " + std::to_string(record.cells.size()) + " cells, the header has " +
                           std::to_string(expected),
                       "cells that hold commas must be quoted"});
  }

  std::string_view text_;
  std::string file_;
  std::size_t at_{}, line_start_{};
  unsigned line_{1};
  std::vector<CsvRecord> records_;
  std::vector<Diagnostic> faults_;
};

}  // namespace

std::vector<CsvRecord> parse_csv(std::string_view text, const std::string& file) {
  return CsvReader(text, file).read();
}

std::string csv_cell(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace stepcast
