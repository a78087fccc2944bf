#include "base/table_reader.hpp"

#include <algorithm>
#include <sstream>

#include "base/quantity.hpp"

namespace stepcast {
namespace {

std::string plain(double number) {
  std::ostringstream text;
  text << number;
  return text.str();
}

}  // namespace

TableReader::TableReader(const Value& table, std::string path, std::vector<Diagnostic>& faults)
    : table_(table), path_(std::move(path)), faults_(faults) {}

bool TableReader::has(std::string_view key) const { return table_.find(key) != nullptr; }

std::string TableReader::full(std::string_view key) const {
  return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
}

void TableReader::known(std::string_view key) { known_.emplace(key); }

const Value* TableReader::raw(std::string_view key) {
  known(key);
  return table_.find(key);
}

void TableReader::wrong_kind(std::string_view key, const Value& value, std::string_view expected) {
  faults_.push_back(
      {value.place,
       full(key) + " must be " + std::string(expected) + ", not " + std::string(kind_name(value.kind)), ""});
}

std::optional<std::string> TableReader::string(std::string_view key) {
  const Value* value = raw(key);
  if (value == nullptr) return {};
  if (value->kind == Value::Kind::string) return value->string;
  wrong_kind(key, *value, "text in quotes");
  return {};
}

std::optional<bool> TableReader::boolean(std::string_view key) {
  const Value* value = raw(key);
  if (value == nullptr) return {};
  if (value->kind == Value::Kind::boolean) return value->boolean;
  wrong_kind(key, *value, "true or false");
  return {};
}

std::optional<std::int64_t> TableReader::integer(std::string_view key, std::int64_t minimum,
                                                 std::int64_t maximum) {
  const Value* value = raw(key);
  if (value == nullptr) return {};
  if (value->kind == Value::Kind::real) {
    faults_.push_back(
        {value->place, full(key) + " is " + plain(value->real) + ", must be a whole number", ""});
    return {};
  }
  if (value->kind != Value::Kind::integer) {
    wrong_kind(key, *value, "a whole number");
    return {};
  }
  if (value->integer < minimum || value->integer > maximum) {
    const std::string range = maximum == INT64_MAX
                                  ? "at least " + std::to_string(minimum)
                                  : std::to_string(minimum) + " to " + std::to_string(maximum);
    faults_.push_back(
        {value->place, full(key) + " is " + std::to_string(value->integer) + ", must be " + range, ""});
    return {};
  }
  return value->integer;
}

std::optional<double> TableReader::number(std::string_view key, double minimum, double maximum) {
  const Value* value = raw(key);
  if (value == nullptr) return {};
  if (!value->is_number()) {
    wrong_kind(key, *value, "a number");
    return {};
  }
  if (!(value->real >= minimum && value->real <= maximum)) {
    faults_.push_back(
        {value->place,
         full(key) + " is " + plain(value->real) + ", must be " +
             (maximum > 1e300 ? "at least " + plain(minimum) : plain(minimum) + " to " + plain(maximum)),
         ""});
    return {};
  }
  return value->real;
}

template <class Q>
std::optional<Q> TableReader::quantity(std::string_view key, std::optional<Q> (*parse)(std::string_view),
                                       std::string_view what, std::string_view units) {
  const Value* value = raw(key);
  if (value == nullptr) return {};
  const std::string hint = "accepted units: " + std::string(units);
  if (value->is_number()) {
    faults_.push_back(
        {value->place, full(key) + " is a bare number: " + std::string(what) + " needs a unit", hint});
    return {};
  }
  if (value->kind != Value::Kind::string) {
    wrong_kind(key, *value, std::string(what) + " as text with a unit");
    return {};
  }
  std::optional<Q> result = parse(value->string);
  if (!result) {
    faults_.push_back(
        {value->place, full(key) + " is \"" + value->string + "\", which is not " + std::string(what), hint});
  }
  return result;
}

std::optional<Bytes> TableReader::bytes(std::string_view key) {
  return quantity<Bytes>(key, parse_bytes, "a size", bytes_units);
}
std::optional<Seconds> TableReader::seconds(std::string_view key) {
  return quantity<Seconds>(key, parse_seconds, "a time", seconds_units);
}
std::optional<BytesPerSecond> TableReader::rate(std::string_view key) {
  return quantity<BytesPerSecond>(key, parse_rate, "a rate", rate_units);
}
std::optional<FlopPerSecond> TableReader::flops(std::string_view key) {
  return quantity<FlopPerSecond>(key, parse_flops, "a compute rate", flops_units);
}
std::optional<double> TableReader::elements(std::string_view key) {
  return quantity<double>(key, parse_elements, "a number of elements", elements_units);
}

std::optional<std::string> TableReader::choice(std::string_view key,
                                               const std::vector<std::string>& known_words) {
  const Value* value = raw(key);
  if (value == nullptr) return {};
  if (value->kind != Value::Kind::string) {
    wrong_kind(key, *value, "text in quotes");
    return {};
  }
  if (std::find(known_words.begin(), known_words.end(), value->string) != known_words.end())
    return value->string;
  std::string list;
  for (const std::string& word : known_words) list += (list.empty() ? "" : ", ") + word;
  const std::string near = nearest_name(value->string, known_words);
  faults_.push_back({value->place, full(key) + " is \"" + value->string + "\"; expected one of " + list,
                     near.empty() ? "" : "did you mean \"" + near + "\"?"});
  return {};
}

std::optional<std::vector<std::string>> TableReader::strings(std::string_view key) {
  const Value* value = raw(key);
  if (value == nullptr) return {};
  if (value->kind == Value::Kind::string) return std::vector<std::string>{value->string};
  if (value->kind != Value::Kind::array) {
    wrong_kind(key, *value, "a list of texts");
    return {};
  }
  std::vector<std::string> words;
  for (const Value& item : value->array) {
    if (item.kind != Value::Kind::string) {
      wrong_kind(key, item, "a list of texts");
      return {};
    }
    words.push_back(item.string);
  }
  return words;
}

const Value* TableReader::table(std::string_view key) {
  const Value* value = raw(key);
  if (value == nullptr || value->kind == Value::Kind::table) return value;
  wrong_kind(key, *value, "a table");
  return nullptr;
}

const Value* TableReader::tables(std::string_view key) {
  const Value* value = raw(key);
  if (value == nullptr) return nullptr;
  const bool right = value->kind == Value::Kind::array &&
                     std::all_of(value->array.begin(), value->array.end(),
                                 [](const Value& item) { return item.kind == Value::Kind::table; });
  if (right) return value;
  wrong_kind(key, *value, "a list of tables ([[" + full(key) + "]])");
  return nullptr;
}

void TableReader::require(std::string_view key, std::string_view expected) {
  known(key);
  if (has(key)) return;
  faults_.push_back({table_.place, full(key) + " is missing", "expected " + std::string(expected)});
}

void TableReader::fault(std::string_view key, std::string message, std::string hint) {
  known(key);
  const Value* value = table_.find(key);
  faults_.push_back({value != nullptr ? value->place : table_.place, std::move(message), std::move(hint)});
}

void TableReader::finish() {
  std::vector<std::string> words(known_.begin(), known_.end());
  for (const Value::Entry& entry : table_.table) {
    if (known_.find(entry.key) != known_.end()) continue;
    faults_.push_back(
        {entry.key_place, "unknown key \"" + full(entry.key) + "\"", suggest(entry.key, words)});
  }
}

}  // namespace stepcast
