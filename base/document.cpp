#include "base/document.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>

// The only translation unit that pays for these two.
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>
#include <toml++/toml.h>

#include "base/print.hpp"

namespace stepcast {
namespace {

/// Byte offsets of line starts, to turn offsets into lines and to quote lines.
class LineIndex {
 public:
  static constexpr std::size_t longest_excerpt = 1000;

  LineIndex(std::string_view text, std::string file) : text_(text), file_(std::move(file)) {
    starts_.push_back(0);
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\n') starts_.push_back(i + 1);
    }
  }

  [[nodiscard]] std::string line(std::size_t number) const {
    if (number == 0 || number > starts_.size()) return {};
    const std::size_t from = starts_[number - 1];
    std::size_t to = text_.find('\n', from);
    if (to == std::string_view::npos) to = text_.size();
    if (to > from && text_[to - 1] == '\r') --to;
    // Every value carries its line: of minified JSON that would be the whole file each time.
    if (to - from > longest_excerpt) return {};
    return std::string(text_.substr(from, to - from));
  }

  [[nodiscard]] SourcePlace place(std::size_t line_number, std::size_t column, std::size_t length) const {
    return {file_, static_cast<unsigned>(line_number), static_cast<unsigned>(column),
            static_cast<unsigned>(std::max<std::size_t>(1, length)), line(line_number)};
  }

  [[nodiscard]] SourcePlace at_offset(std::size_t offset, std::size_t length) const {
    offset = std::min(offset, text_.size());
    const auto after = std::upper_bound(starts_.begin(), starts_.end(), offset);
    const auto number = static_cast<std::size_t>(after - starts_.begin());
    return place(number, offset - starts_[number - 1] + 1, length);
  }

 private:
  std::string_view text_;
  std::string file_;
  std::vector<std::size_t> starts_;
};

SourcePlace place_of(const toml::source_region& region, const LineIndex& lines) {
  std::size_t length = 1;
  if (region.end.line == region.begin.line && region.end.column > region.begin.column) {
    length = region.end.column - region.begin.column;
  } else if (region.end.line > region.begin.line) {
    const std::string line = lines.line(region.begin.line);
    length = line.size() >= region.begin.column ? line.size() - region.begin.column + 1 : 1;
  }
  return lines.place(region.begin.line, region.begin.column, length);
}

Value from_toml(const toml::node& node, const LineIndex& lines) {
  Value value;
  value.place = place_of(node.source(), lines);
  if (const auto* table = node.as_table()) {
    value.kind = Value::Kind::table;
    for (const auto& [key, child] : *table) {
      Value::Entry entry{std::string(key.str()), place_of(key.source(), lines), from_toml(child, lines)};
      value.table.push_back(std::move(entry));
    }
    // toml++ sorts keys; the order of the file matters for sweeps and error lists.
    std::stable_sort(value.table.begin(), value.table.end(), [](const auto& a, const auto& b) {
      return std::pair(a.key_place.line, a.key_place.column) <
             std::pair(b.key_place.line, b.key_place.column);
    });
  } else if (const auto* array = node.as_array()) {
    value.kind = Value::Kind::array;
    for (const auto& child : *array) value.array.push_back(from_toml(child, lines));
  } else if (const auto* text = node.as_string()) {
    value.kind = Value::Kind::string;
    value.string = text->get();
  } else if (const auto* integer = node.as_integer()) {
    value.kind = Value::Kind::integer;
    value.integer = integer->get();
    value.real = static_cast<double>(value.integer);
  } else if (const auto* real = node.as_floating_point()) {
    value.kind = Value::Kind::real;
    value.real = real->get();
  } else if (const auto* truth = node.as_boolean()) {
    value.kind = Value::Kind::boolean;
    value.boolean = truth->get();
  } else {  // Dates and times: no key of ours takes one, so they read as the text that they are.
    value.kind = Value::Kind::string;
    std::ostringstream written;
    node.visit([&written](const auto& content) {
      if constexpr (!toml::is_table<decltype(content)> && !toml::is_array<decltype(content)>)
        written << content;
    });
    value.string = written.str();
  }
  return value;
}

/// Builds our tree from RapidJSON's events and asks the stream where it stands.
class JsonHandler : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, JsonHandler> {
 public:
  JsonHandler(const rapidjson::MemoryStream& stream, std::string_view text, const LineIndex& lines)
      : stream_(stream), text_(text), lines_(lines) {}

  bool Null() { return add(scalar(Value::Kind::null)); }
  bool Bool(bool truth) {
    Value value = scalar(Value::Kind::boolean);
    value.boolean = truth;
    return add(std::move(value));
  }
  bool Int(int number) { return Int64(number); }
  bool Uint(unsigned number) { return Int64(number); }
  bool Int64(std::int64_t number) {
    Value value = scalar(Value::Kind::integer);
    value.integer = number;
    value.real = static_cast<double>(number);
    return add(std::move(value));
  }
  bool Uint64(std::uint64_t number) {  // all above 2^32 - 1 come here
    if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      return Double(static_cast<double>(number));
    return Int64(static_cast<std::int64_t>(number));
  }
  bool Double(double number) {
    Value value = scalar(Value::Kind::real);
    value.real = number;
    return add(std::move(value));
  }
  bool String(const char* text, rapidjson::SizeType length, bool) {
    Value value = scalar(Value::Kind::string);
    value.string.assign(text, length);
    return add(std::move(value));
  }
  bool Key(const char* text, rapidjson::SizeType length, bool) {
    keys_.back() = {std::string(text, length), scalar(Value::Kind::string).place};
    return true;
  }
  bool StartObject() { return open(Value::Kind::table); }
  bool EndObject(rapidjson::SizeType) { return close(); }
  bool StartArray() { return open(Value::Kind::array); }
  bool EndArray(rapidjson::SizeType) { return close(); }

  [[nodiscard]] Value take() { return std::move(root_); }

 private:
  using Key_ = std::pair<std::string, SourcePlace>;

  /// A value that has just been read: it ends where the stream stands and began after the last delimiter.
  Value scalar(Value::Kind kind) const {
    Value value;
    value.kind = kind;
    const std::size_t end = stream_.Tell();
    std::size_t begin = end;
    if (end > 0 && text_[end - 1] == '"') {
      begin = end - 1;
      while (begin > 0) {
        --begin;
        if (text_[begin] != '"') continue;
        std::size_t backslashes = 0;
        while (backslashes < begin && text_[begin - 1 - backslashes] == '\\') ++backslashes;
        if (backslashes % 2 == 0) break;
      }
    } else {
      while (begin > 0 && std::string_view(" \t\r\n,:[{").find(text_[begin - 1]) == std::string_view::npos)
        --begin;
    }
    value.place = lines_.at_offset(begin, end - begin);
    return value;
  }

  static constexpr std::size_t deepest =
      256;  // As toml++; a tree deeper than this would be destroyed recursively.

  bool open(Value::Kind kind) {
    if (open_.size() >= deepest) return false;
    Value value;
    value.kind = kind;
    value.place = lines_.at_offset(stream_.Tell() > 0 ? stream_.Tell() - 1 : 0, 1);
    open_.push_back(std::move(value));
    keys_.emplace_back();
    return true;
  }
  bool close() {
    Value value = std::move(open_.back());
    open_.pop_back();
    keys_.pop_back();
    return add(std::move(value));
  }
  bool add(Value value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (open_.back().kind == Value::Kind::array) {
      open_.back().array.push_back(std::move(value));
    } else {
      open_.back().table.push_back({keys_.back().first, keys_.back().second, std::move(value)});
    }
    return true;
  }

  const rapidjson::MemoryStream& stream_;
  std::string_view text_;
  const LineIndex& lines_;
  std::vector<Value> open_;
  std::vector<Key_> keys_;
  Value root_;
};

}  // namespace

const Value* Value::find(std::string_view key) const {
  for (const Entry& entry : table) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

Value* Value::find(std::string_view key) {
  for (Entry& entry : table) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

std::string Value::to_text() const {
  switch (kind) {
    case Kind::null:
      return "null";
    case Kind::boolean:
      return boolean ? "true" : "false";
    case Kind::integer:
      return std::to_string(integer);
    case Kind::real: {
      std::ostringstream text;
      text.precision(12);
      text << real;
      return text.str();
    }
    case Kind::string:
      return string;
    case Kind::array: {
      std::string text = "[";
      for (std::size_t i = 0; i < array.size(); ++i) text += (i > 0 ? ", " : "") + array[i].to_text();
      return text + "]";
    }
    case Kind::table: {
      std::string text = "{";
      for (std::size_t i = 0; i < table.size(); ++i) {
        text += (i > 0 ? ", " : "") + table[i].key + " = " + table[i].value.to_text();
      }
      return text + "}";
    }
  }
  return {};
}

Value Value::of(std::string text) {
  Value value;
  value.kind = Kind::string;
  value.string = std::move(text);
  return value;
}

Value Value::of(std::int64_t number) {
  Value value;
  value.kind = Kind::integer;
  value.integer = number;
  value.real = static_cast<double>(number);
  return value;
}

bool same_content(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) return a.real == b.real;
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case Value::Kind::boolean:
      return a.boolean == b.boolean;
    case Value::Kind::string:
      return a.string == b.string;
    case Value::Kind::array:
      if (a.array.size() != b.array.size()) return false;
      for (std::size_t i = 0; i < a.array.size(); ++i) {
        if (!same_content(a.array[i], b.array[i])) return false;
      }
      return true;
    case Value::Kind::table:
      if (a.table.size() != b.table.size()) return false;
      for (const Value::Entry& entry : a.table) {
        const Value* other = b.find(entry.key);
        if (other == nullptr || !same_content(entry.value, *other)) return false;
      }
      return true;
    default:
      return true;
  }
}

std::string_view kind_name(Value::Kind kind) {
  switch (kind) {
    case Value::Kind::null:
      return "null";
    case Value::Kind::boolean:
      return "true or false";
    case Value::Kind::integer:
      return "a whole number";
    case Value::Kind::real:
      return "a number";
    case Value::Kind::string:
      return "text";
    case Value::Kind::array:
      return "a list";
    case Value::Kind::table:
      return "a table";
  }
  return "";
}

Value parse_toml(std::string_view text, const std::string& file) {
  const LineIndex lines(text, file);
  try {
    const toml::table table = toml::parse(text, file);
    return from_toml(table, lines);
  } catch (const toml::parse_error& error) {
    throw ScenarioError(Diagnostic{place_of(error.source(), lines),
                                   "not valid TOML: " + std::string(error.description()), ""});
  }
}

Value parse_json(std::string_view text, const std::string& file) {
  const LineIndex lines(text, file);
  rapidjson::MemoryStream stream(text.data(), text.size());
  JsonHandler handler(stream, text, lines);
  rapidjson::Reader reader;
  constexpr unsigned flags =
      rapidjson::kParseNanAndInfFlag | rapidjson::kParseFullPrecisionFlag |
      rapidjson::kParseIterativeFlag;  // iterative: deep nesting can't overflow the stack
  const rapidjson::ParseResult result = reader.Parse<flags>(stream, handler);
  if (result.IsError()) {
    const bool at_end = result.Offset() >= text.size();
    const bool too_deep = result.Code() == rapidjson::kParseErrorTermination;
    throw ScenarioError(
        Diagnostic{lines.at_offset(result.Offset(), 1),
                   too_deep ? "nested more than 256 deep"
                            : "not valid JSON: " + std::string(rapidjson::GetParseError_En(result.Code())),
                   at_end ? "the file ends in the middle of a value: is it cut short?" : ""});
  }
  return handler.take();
}

Value parse_toml_value_or_text(std::string_view text, const std::string& place_name) {
  try {
    const Value table = parse_toml("value = " + std::string(text), place_name);
    if (table.table.size() == 1 && table.table.front().key == "value") {
      Value value = table.table.front().value;
      value.place = {place_name, 1, 1, static_cast<unsigned>(place_name.size()), place_name};
      return value;
    }
  } catch (const ScenarioError&) {  // Not TOML: it is text, as the contract of --set says.
  }
  Value value = Value::of(std::string(text));
  value.place = {place_name, 1, 1, static_cast<unsigned>(place_name.size()), place_name};
  return value;
}

std::string read_file(const std::filesystem::path& path) {
  std::error_code ignored;
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path, ignored)) {
    const bool exists = std::filesystem::exists(path, ignored);
    throw ScenarioError(Diagnostic{SourcePlace{path.string(), 1, 1, 1, ""},
                                   exists ? "can't read this file" : "no such file",
                                   exists ? "is it a folder, or are its permissions too narrow?" : ""});
  }
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace stepcast
