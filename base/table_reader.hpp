#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/document.hpp"
#include "base/units.hpp"

namespace stepcast {

/// Reads the keys of one TOML or JSON table, collects every fault instead of stopping at the first one, and
/// at finish() reports keys that nobody asked for. A missing or faulty key yields nothing; the caller keeps
/// its default.
class TableReader {
 public:
  /// `path` is the dotted name of the table ("training"; "" for the file itself) as messages show it.
  TableReader(const Value& table, std::string path, std::vector<Diagnostic>& faults);

  [[nodiscard]] bool has(std::string_view key) const;
  /// Marks the key as known and returns it raw; nullptr when absent.
  const Value* raw(std::string_view key);
  std::optional<std::string> string(std::string_view key);
  std::optional<bool> boolean(std::string_view key);
  std::optional<std::int64_t> integer(std::string_view key, std::int64_t minimum = INT64_MIN,
                                      std::int64_t maximum = INT64_MAX);
  std::optional<double> number(std::string_view key, double minimum, double maximum);
  std::optional<Bytes> bytes(std::string_view key);
  std::optional<Seconds> seconds(std::string_view key);
  std::optional<BytesPerSecond> rate(std::string_view key);
  std::optional<FlopPerSecond> flops(std::string_view key);
  std::optional<double> elements(std::string_view key);
  /// A word out of `known`; anything else is a fault with a suggestion.
  std::optional<std::string> choice(std::string_view key, const std::vector<std::string>& known);
  std::optional<std::vector<std::string>> strings(std::string_view key);
  /// A sub-table; nullptr when absent or not a table (a fault).
  const Value* table(std::string_view key);
  /// An array of tables; nullptr when absent or something else (a fault).
  const Value* tables(std::string_view key);

  /// Adds the fault `"PATH.KEY" is missing` at the table when the key is absent.
  void require(std::string_view key, std::string_view expected);
  /// Adds a fault at the key's value (or at the table when it is absent).
  void fault(std::string_view key, std::string message, std::string hint = "");
  /// Declares a key known without reading it.
  void known(std::string_view key);
  /// Reports every key that was neither read nor declared.
  void finish();

  [[nodiscard]] const SourcePlace& place() const { return table_.place; }

 private:
  [[nodiscard]] std::string full(std::string_view key) const;
  void wrong_kind(std::string_view key, const Value& value, std::string_view expected);
  template <class Q>
  std::optional<Q> quantity(std::string_view key, std::optional<Q> (*parse)(std::string_view),
                            std::string_view what, std::string_view units);

  const Value& table_;
  std::string path_;
  std::vector<Diagnostic>& faults_;
  std::set<std::string, std::less<>> known_;
};

}  // namespace stepcast
