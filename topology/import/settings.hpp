#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/diagnostic.hpp"
#include "base/document.hpp"
#include "base/units.hpp"

namespace stepcast {

/// `--set key=value` of an import.
struct ImportSetting {
  std::string key, text;
};

/// What an import can't know: the key to add, why, and a value that would do.
struct Question {
  std::string key, why, example;
};

/// Answers out of the settings; faults are collected, and keys that no import knows are one.
class Settings {
 public:
  Settings(const std::vector<ImportSetting>& given, std::vector<std::string> known,
           std::vector<Diagnostic>& faults);

  std::optional<std::string> text(const std::string& key);
  std::optional<BytesPerSecond> rate(const std::string& key);
  std::optional<Seconds> seconds(const std::string& key);
  std::optional<double> share(const std::string& key);  ///< above 0, at most 1
  std::optional<int> count(const std::string& key);     ///< from 1
  std::optional<bool> boolean(const std::string& key);
  std::optional<std::string> choice(const std::string& key, const std::vector<std::string>& known);
  const ImportSetting* find(const std::string& key) const;
  void fault(const std::string& key, const std::string& message, const std::string& hint);

 private:
  std::vector<ImportSetting> given_;
  std::vector<Diagnostic>& faults_;
};

/// What `--set` figures state as their source.
inline constexpr const char* given_source = "given on the command line of the import";

}  // namespace stepcast
