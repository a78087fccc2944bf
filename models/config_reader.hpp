#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/document.hpp"
#include "base/table_reader.hpp"

namespace stepcast {

/// Reads keys of a model configuration. Unlike a scenario's, unknown keys are none of our business, null
/// means absent, and a key may have several spellings: the first one present counts.
class ConfigReader {
 public:
  using Keys = std::initializer_list<std::string_view>;
  ConfigReader(const Value& config, std::string path, std::vector<Diagnostic>& faults)
      : reader_(config, std::move(path), faults), config_(config), faults_(faults) {}

  /// A size: a whole number from 1 to `maximum`. Absent or wrong is a fault; then it is 0, and what depends
  /// on it is not checked further.
  std::int64_t size(Keys keys, std::int64_t maximum = 1'000'000'000);
  std::int64_t size_or(Keys keys, std::int64_t absent, std::int64_t maximum = 1'000'000'000);
  bool flag_or(Keys keys, bool absent);
  double share_or(Keys keys, double absent);  ///< a probability, 0 to 1
  std::string text_or(Keys keys, const std::string& absent);
  /// The value of the first spelling that is present and not null.
  const Value* value(Keys keys) const;
  /// A fault at the first spelling present, else at the table.
  void fault(Keys keys, std::string message, std::string hint = "");

  [[nodiscard]] const Value& config() const { return config_; }
  [[nodiscard]] std::vector<Diagnostic>& faults() { return faults_; }

 private:
  std::string_view present(Keys keys) const;
  TableReader reader_;
  const Value& config_;
  std::vector<Diagnostic>& faults_;
};

}  // namespace stepcast
