#include "models/config_reader.hpp"

namespace stepcast {

std::string_view ConfigReader::present(Keys keys) const {
  for (const std::string_view key : keys) {
    const Value* found = config_.find(key);
    if (found != nullptr && found->kind != Value::Kind::null) return key;
  }
  return {};
}

const Value* ConfigReader::value(Keys keys) const {
  const std::string_view key = present(keys);
  return key.empty() ? nullptr : config_.find(key);
}

void ConfigReader::fault(Keys keys, std::string message, std::string hint) {
  const std::string_view key = present(keys);
  reader_.fault(key.empty() ? *keys.begin() : key, std::move(message), std::move(hint));
}

std::int64_t ConfigReader::size(Keys keys, std::int64_t maximum) {
  const std::string_view key = present(keys);
  if (key.empty()) {
    std::string spellings;
    for (const std::string_view word : keys)
      spellings += (spellings.empty() ? "\"" : " or \"") + std::string(word) + "\"";
    reader_.fault(*keys.begin(), spellings + " is missing", "expected a whole number of at least 1 here");
    return 0;
  }
  return reader_.integer(key, 1, maximum).value_or(0);
}

std::int64_t ConfigReader::size_or(Keys keys, std::int64_t absent, std::int64_t maximum) {
  const std::string_view key = present(keys);
  return key.empty() ? absent : reader_.integer(key, 1, maximum).value_or(absent);
}

bool ConfigReader::flag_or(Keys keys, bool absent) {
  const std::string_view key = present(keys);
  return key.empty() ? absent : reader_.boolean(key).value_or(absent);
}

double ConfigReader::share_or(Keys keys, double absent) {
  const std::string_view key = present(keys);
  return key.empty() ? absent : reader_.number(key, 0, 1).value_or(absent);
}

std::string ConfigReader::text_or(Keys keys, const std::string& absent) {
  const std::string_view key = present(keys);
  return key.empty() ? absent : reader_.string(key).value_or(absent);
}

}  // namespace stepcast
