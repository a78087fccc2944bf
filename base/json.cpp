#include "base/json.hpp"

#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

#include <charconv>
#include <cmath>

namespace stepcast {

struct JsonWriter::Implementation {
  rapidjson::StringBuffer buffer;
  rapidjson::PrettyWriter<rapidjson::StringBuffer> writer{buffer};
};

JsonWriter::JsonWriter() : implementation_(std::make_unique<Implementation>()) {
  implementation_->writer.SetIndent(' ', 2);
}
JsonWriter::~JsonWriter() = default;
JsonWriter::JsonWriter(JsonWriter&&) noexcept = default;
JsonWriter& JsonWriter::operator=(JsonWriter&&) noexcept = default;

void JsonWriter::begin_object() { implementation_->writer.StartObject(); }
void JsonWriter::end_object() { implementation_->writer.EndObject(); }
void JsonWriter::begin_array() { implementation_->writer.StartArray(); }
void JsonWriter::end_array() { implementation_->writer.EndArray(); }
void JsonWriter::key(std::string_view name) {
  implementation_->writer.Key(name.data(), static_cast<rapidjson::SizeType>(name.size()));
}
void JsonWriter::value(std::string_view text) {
  implementation_->writer.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
}
void JsonWriter::value(double number) {
  if (!std::isfinite(number)) return null();
  char text[32];  // RapidJSON's own conversion is not always the shortest.
  const auto [end, error] = std::to_chars(text, text + sizeof text, number);
  STEPCAST_CHECK(error == std::errc{}, "a number longer than 32 characters");
  implementation_->writer.RawValue(text, static_cast<std::size_t>(end - text), rapidjson::kNumberType);
}
void JsonWriter::value(std::int64_t number) { implementation_->writer.Int64(number); }
void JsonWriter::value(bool truth) { implementation_->writer.Bool(truth); }
void JsonWriter::null() { implementation_->writer.Null(); }

void JsonWriter::value(const Value& tree) {
  switch (tree.kind) {
    case Value::Kind::null:
      return null();
    case Value::Kind::boolean:
      return value(tree.boolean);
    case Value::Kind::integer:
      return value(tree.integer);
    case Value::Kind::real:
      return value(tree.real);
    case Value::Kind::string:
      return value(tree.string);
    case Value::Kind::array:
      begin_array();
      for (const Value& item : tree.array) value(item);
      return end_array();
    case Value::Kind::table:
      begin_object();
      for (const Value::Entry& entry : tree.table) {
        key(entry.key);
        value(entry.value);
      }
      return end_object();
  }
}

std::string JsonWriter::text() const { return std::string(implementation_->buffer.GetString()) + "\n"; }

}  // namespace stepcast
