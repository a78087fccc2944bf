#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/table_reader.hpp"

namespace stepcast {

/// Reads a table of figures about hardware. A figure is `{ value = ..., source = "..." }`, optionally with
/// `measured_on` and `spread`; a plain value is accepted too, for files that a user writes by hand.
/// Faults are collected as by TableReader.
class FigureReader {
 public:
  /// `path` is the dotted name of the table ("nvlink"; "" for the file itself).
  FigureReader(const Value& table, std::string path, std::vector<Diagnostic>& faults);

  [[nodiscard]] TableReader& table() { return table_; }
  std::optional<std::int64_t> integer(std::string_view key, std::int64_t minimum, std::int64_t maximum);
  std::optional<double> number(std::string_view key, double minimum, double maximum);
  std::optional<bool> boolean(std::string_view key);
  std::optional<std::string> text(std::string_view key);
  /// A word out of `known`; anything else is a fault with a suggestion.
  std::optional<std::string> choice(std::string_view key, const std::vector<std::string>& known);
  std::optional<Seconds> seconds(std::string_view key);
  std::optional<BytesPerSecond> rate(std::string_view key);  ///< above zero, else a fault
  /// The value itself (of any kind), past `value`; nullptr when absent.
  const Value* raw(std::string_view key);
  /// A list of whole numbers within the bounds; nothing when absent or faulty.
  std::optional<std::vector<int>> integers(std::string_view key, int minimum, int maximum);

  /// The source that the figure states; "" when it is absent or plain.
  [[nodiscard]] std::string source(std::string_view key) const;
  /// Where the figure's value stands, else the table: for faults found only by comparing figures.
  [[nodiscard]] SourcePlace place(std::string_view key) const;
  void require(std::string_view key, std::string_view expected) { table_.require(key, expected); }
  void finish() { table_.finish(); }

 private:
  template <class Read>
  auto read(std::string_view key, Read reader_call);
  [[nodiscard]] std::string full(std::string_view key) const;

  const Value& values_;
  std::string path_;
  std::vector<Diagnostic>& faults_;
  TableReader table_;
};

/// Throws a ScenarioError with all of them in the order of the file, if there are any.
void throw_faults(std::vector<Diagnostic> faults);

}  // namespace stepcast
