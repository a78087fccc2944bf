#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/diagnostic.hpp"

namespace stepcast {

/// A value of a TOML or JSON text that knows where it stands. Tables keep the order of the file.
struct Value {
  enum class Kind { null, boolean, integer, real, string, array, table };
  struct Entry;

  Kind kind{Kind::null};
  bool boolean{};
  std::int64_t integer{};
  double real{};  ///< also set for an integer
  std::string string;
  std::vector<Value> array;
  std::vector<Entry> table;
  SourcePlace place;

  [[nodiscard]] const Value* find(std::string_view key) const;  ///< nullptr when absent or not a table
  [[nodiscard]] Value* find(std::string_view key);
  [[nodiscard]] bool is_number() const { return kind == Kind::integer || kind == Kind::real; }
  /// Text as a person would write it in TOML: 4, "fsdp" without quotes, [1, 2].
  [[nodiscard]] std::string to_text() const;

  [[nodiscard]] static Value of(std::string text);
  [[nodiscard]] static Value of(std::int64_t number);
};

struct Value::Entry {
  std::string key;
  SourcePlace key_place;
  Value value;
};

/// Equality of content; places do not count.
[[nodiscard]] bool same_content(const Value& a, const Value& b);

/// `"table", "array", ...` as an error message names it.
[[nodiscard]] std::string_view kind_name(Value::Kind kind);

/// Both throw ScenarioError at the first syntax fault. `file` is the name that places carry.
[[nodiscard]] Value parse_toml(std::string_view text, const std::string& file);
[[nodiscard]] Value parse_json(std::string_view text, const std::string& file);

/// One TOML value ("4", "\"x\"", "[1, 2]"), or, when it is none, the text itself as a string.
[[nodiscard]] Value parse_toml_value_or_text(std::string_view text, const std::string& place_name);

/// The whole file. Throws ScenarioError (place: `as_given`, else the path) when it can't be read.
[[nodiscard]] std::string read_file(const std::filesystem::path& path);

}  // namespace stepcast
