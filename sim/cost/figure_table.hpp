#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/table_reader.hpp"
#include "sim/cost/profile.hpp"

namespace stepcast {

/// Reads the figures of one profile section: every one is `{ value = ..., source = "...", measured_on =
/// "...", spread = ... }` with value and source required. A figure that is absent leaves its target as it is,
/// so that a second file overrides figure by figure. Faults are collected as by TableReader.
class FigureTable {
 public:
  FigureTable(const Value& table, std::string path, std::vector<Diagnostic>& faults);

  /// The section's own keys (name, origin, sub-tables).
  [[nodiscard]] TableReader& section() { return section_; }
  /// Each returns true when the key is there and sound.
  bool share(std::string_view key, Figure<double>& into, double minimum, double maximum);
  bool rate(std::string_view key, Figure<BytesPerSecond>& into);
  bool flops(std::string_view key, Figure<FlopPerSecond>& into);
  bool time(std::string_view key, Figure<Seconds>& into);
  bool size(std::string_view key, Figure<Bytes>& into);
  bool count(std::string_view key, int& into, int minimum, int maximum);
  bool number(std::string_view key, double& into, double minimum, double maximum);
  bool truth(std::string_view key, bool& into);
  bool words(std::string_view key, std::vector<std::string>& into, const std::vector<std::string>& known);
  /// A sub-table that holds figures; nullptr when absent or something else (a fault).
  const Value* table(std::string_view key) { return section_.table(key); }
  [[nodiscard]] std::string path(std::string_view key) const { return path_ + "." + std::string(key); }
  void finish() { section_.finish(); }

 private:
  /// Calls `read(reader)` on the figure's table and checks its origin; nothing when absent or faulty.
  template <class T, class Read>
  std::optional<Figure<T>> figure(std::string_view key, Read read);

  const Value& values_;
  std::string path_;
  std::vector<Diagnostic>& faults_;
  TableReader section_;
};

}  // namespace stepcast
