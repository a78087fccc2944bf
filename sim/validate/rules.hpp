#pragma once

#include <map>
#include <optional>
#include <regex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/document.hpp"
#include "sim/validate/measured_row.hpp"

namespace stepcast {

/// One rule of the mapping: when all its patterns match, its outputs hold.
struct MappingRule {
  struct Condition {
    std::string column;
    std::regex pattern;
    std::string text;  ///< of the pattern
  };
  std::vector<Condition> conditions;
  const Value* outputs{};  ///< the rule's table, "when" included

  [[nodiscard]] std::optional<std::string> text(std::string_view key) const;
  [[nodiscard]] std::optional<double> number(std::string_view key) const;
  [[nodiscard]] const Value* table(std::string_view key) const;
};

/// What a mapping file may hold.
struct MappingSchema {
  std::map<std::string, std::vector<std::string>, std::less<>> sections;  ///< keys of a rule beside "when"
  std::span<const std::string_view> columns;                              ///< that "when" may ask for
  std::vector<std::string> family_keys;                                   ///< of [family.NAME]; empty: none
};

/// The mapping file: how the spellings of published tables become scenarios. Sections are lists of rules,
/// tried in order; the first one that matches is taken. A pattern is an ECMAScript regular expression,
/// searched without regard to case anywhere in the column; a column that begins with "@" is what an earlier
/// section found ("@node").
class Mapping {
 public:
  /// The mapping that the program ships (sim/validate/mapping.toml).
  static const Mapping& shipped();
  /// Of tables of training throughput.
  static const MappingSchema& training_schema();
  /// @throws ScenarioError: syntax, unknown sections and keys, patterns that are none
  Mapping(std::string_view toml, const std::string& file, const MappingSchema& schema = training_schema());
  Mapping(const Mapping&) = delete;  // rules point into the document
  Mapping& operator=(const Mapping&) = delete;

  /// nullptr when no rule of the section matches.
  [[nodiscard]] const MappingRule* first(std::string_view section, const MeasuredRow& row) const;
  [[nodiscard]] const MappingRule& family(std::string_view name) const;
  [[nodiscard]] bool has_family(std::string_view name) const;

 private:
  Value document_;
  std::map<std::string, std::vector<MappingRule>, std::less<>> sections_;
  std::map<std::string, MappingRule, std::less<>> families_;
};

/// `text` with every {column} replaced by the row's text.
[[nodiscard]] std::string filled_in(std::string_view text, const MeasuredRow& row);

}  // namespace stepcast
