#include "cli/options.hpp"

#include <algorithm>

#include "base/quantity.hpp"

namespace stepcast {
namespace {

Diagnostic usage_fault(std::string message, std::string hint) {
  Diagnostic fault;
  fault.place.file = "stepcast";
  fault.message = std::move(message);
  fault.hint = std::move(hint);
  return fault;
}

std::vector<std::string> names_of(const std::vector<OptionSpec>& specs) {
  std::vector<std::string> names;
  for (const OptionSpec& spec : specs) names.emplace_back(spec.name);
  return names;
}

}  // namespace

std::optional<Seconds> parse_duration(std::string text) {
  if (text.ends_with("m")) text += "in";  // 3m, as in sleep and timeout
  const auto time = parse_seconds(text);
  return time && *time > Seconds() ? time : std::nullopt;
}

ScenarioError usage_error(std::string message, std::string hint) {
  return ScenarioError(usage_fault(std::move(message), std::move(hint)));
}

bool ParsedOptions::has(std::string_view name) const { return value(name).has_value(); }

std::optional<std::string> ParsedOptions::value(std::string_view name) const {
  const auto all = values(name);
  return all.empty() ? std::nullopt : std::optional(all.back());
}

std::vector<std::string> ParsedOptions::values(std::string_view name) const {
  std::vector<std::string> found;
  for (const auto& [option, value] : options) {
    if (option == name) found.push_back(value);
  }
  return found;
}

ParsedOptions parse_options(const Arguments& arguments, const std::vector<OptionSpec>& specs,
                            const std::string& command) {
  ParsedOptions parsed;
  std::vector<Diagnostic> faults;
  const auto fault = [&](std::string message, std::string hint) {
    faults.push_back(usage_fault(command + ": " + std::move(message), std::move(hint)));
  };
  bool only_positionals = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (only_positionals || word.size() < 2 || word[0] != '-') {  // "-" alone is a file name
      parsed.positionals.push_back(word);
      continue;
    }
    if (word == "--") {
      only_positionals = true;
      continue;
    }
    const std::size_t equals = word.find('=');
    const std::string name = word == "-h" ? "--help" : word.substr(0, equals);
    const auto spec =
        std::find_if(specs.begin(), specs.end(), [&](const OptionSpec& s) { return s.name == name; });
    if (spec == specs.end()) {
      fault("unknown option \"" + name + "\"", suggest(name, names_of(specs)));
      continue;
    }
    std::string value;
    if (equals != std::string::npos) {
      value = word.substr(equals + 1);
      if (spec->value.empty()) fault("\"" + name + "\" takes no value", "");
    } else if (!spec->value.empty()) {
      if (i + 1 == arguments.size()) {
        fault("\"" + name + "\" needs a value", "write " + name + " " + std::string(spec->value));
        continue;
      }
      value = arguments[++i];
    }
    if (spec->later) fault("\"" + name + "\": known, not built yet", "");
    parsed.options.emplace_back(name, std::move(value));
  }
  if (!faults.empty()) throw ScenarioError(std::move(faults));
  return parsed;
}

std::string list_options(const std::vector<OptionSpec>& specs) {
  std::string text;
  for (const OptionSpec& spec : specs) {
    std::string left = "  " + std::string(spec.name);
    if (!spec.value.empty()) left += " " + std::string(spec.value);
    constexpr std::size_t column = 24;
    left += left.size() + 2 > column ? "  " : std::string(column - left.size(), ' ');
    text += left + std::string(spec.help) + (spec.later ? " (known, not built yet)" : "") + "\n";
  }
  return text;
}

}  // namespace stepcast
