#include "topology/import/settings.hpp"

#include <algorithm>
#include <charconv>

#include "base/quantity.hpp"

namespace stepcast {

Settings::Settings(const std::vector<ImportSetting>& given, std::vector<std::string> known,
                   std::vector<Diagnostic>& faults)
    : given_(given), faults_(faults) {
  for (const ImportSetting& setting : given_) {
    if (std::find(known.begin(), known.end(), setting.key) != known.end()) continue;
    fault(setting.key, "no figure of this import is called \"" + setting.key + "\"",
          suggest(setting.key, known));
  }
}

void Settings::fault(const std::string& key, const std::string& message, const std::string& hint) {
  Diagnostic found;
  found.place.file = "--set " + key;
  found.message = message;
  found.hint = hint;
  faults_.push_back(std::move(found));
}

const ImportSetting* Settings::find(const std::string& key) const {
  const auto found = std::find_if(given_.rbegin(), given_.rend(),
                                  [&](const ImportSetting& setting) { return setting.key == key; });
  return found == given_.rend() ? nullptr : &*found;
}

std::optional<std::string> Settings::text(const std::string& key) {
  const ImportSetting* setting = find(key);
  if (setting == nullptr) return std::nullopt;
  const Value value = parse_toml_value_or_text(setting->text, "--set " + key);
  return value.kind == Value::Kind::string ? value.string : setting->text;
}

std::optional<BytesPerSecond> Settings::rate(const std::string& key) {
  const auto given = text(key);
  if (!given) return std::nullopt;
  const auto rate = parse_rate(*given);
  if (rate && rate->value > 0) return rate;
  fault(key, "\"" + *given + "\" is no rate above zero", "expected " + std::string(rate_units));
  return std::nullopt;
}

std::optional<Seconds> Settings::seconds(const std::string& key) {
  const auto given = text(key);
  if (!given) return std::nullopt;
  const auto time = parse_seconds(*given);
  if (!time) fault(key, "\"" + *given + "\" is no time", "expected " + std::string(seconds_units));
  return time;
}

std::optional<double> Settings::share(const std::string& key) {
  const ImportSetting* setting = find(key);
  if (setting == nullptr) return std::nullopt;
  const Value value = parse_toml_value_or_text(setting->text, "--set " + key);
  if (value.is_number() && value.real > 0 && value.real <= 1) return value.real;
  fault(key, "\"" + setting->text + "\" is no share", "expected a number above 0, at most 1");
  return std::nullopt;
}

std::optional<int> Settings::count(const std::string& key) {
  const ImportSetting* setting = find(key);
  if (setting == nullptr) return std::nullopt;
  const Value value = parse_toml_value_or_text(setting->text, "--set " + key);
  if (value.kind == Value::Kind::integer && value.integer >= 1 && value.integer <= 1024)
    return static_cast<int>(value.integer);
  fault(key, "\"" + setting->text + "\" is no count", "expected a whole number 1 to 1024");
  return std::nullopt;
}

std::optional<bool> Settings::boolean(const std::string& key) {
  const auto given = text(key);
  if (!given) return std::nullopt;
  if (*given == "true" || *given == "false") return *given == "true";
  fault(key, "\"" + *given + "\" is neither true nor false", "");
  return std::nullopt;
}

std::optional<std::string> Settings::choice(const std::string& key, const std::vector<std::string>& known) {
  const auto given = text(key);
  if (!given || std::find(known.begin(), known.end(), *given) != known.end()) return given;
  fault(key, "\"" + *given + "\" is not known", suggest(*given, known));
  return std::nullopt;
}

}  // namespace stepcast
