#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/diagnostic.hpp"
#include "base/units.hpp"
#include "cli/commands.hpp"

namespace stepcast {

/// A fault of the command line, shown as `stepcast: error: MESSAGE` with its hint; exit code 2.
[[nodiscard]] ScenarioError usage_error(std::string message, std::string hint = "");

/// "90s", "500 ms", "3m" (as sleep takes it), "1h"; nothing for what is no time above 0.
[[nodiscard]] std::optional<Seconds> parse_duration(std::string text);

/// One option that a command takes.
struct OptionSpec {
  std::string_view name;   ///< "--set"
  std::string_view value;  ///< what stands for its value in help, "key=value"; empty: takes none
  std::string_view help;
  bool later{};  ///< known, not built yet
};

/// Options and other words of a command line.
struct ParsedOptions {
  std::vector<std::string> positionals;
  std::vector<std::pair<std::string, std::string>> options;  ///< in order; the value is empty for flags

  [[nodiscard]] bool has(std::string_view name) const;
  /// Of the last one given.
  [[nodiscard]] std::optional<std::string> value(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> values(std::string_view name) const;
};

/// Reads `--name value` and `--name=value`; `--` ends the options; `-h` is `--help`.
/// @throws ScenarioError with every fault: unknown options (with a suggestion), missing values, options of
/// later issues
[[nodiscard]] ParsedOptions parse_options(const Arguments& arguments, const std::vector<OptionSpec>& specs,
                                          const std::string& command);

/// The options as help lists them.
[[nodiscard]] std::string list_options(const std::vector<OptionSpec>& specs);

}  // namespace stepcast
