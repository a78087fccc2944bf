#include <algorithm>

#include "base/diagnostic.hpp"
#include "sim/validate/row_mapper.hpp"

namespace stepcast::detail {
namespace {

/// Empty when the row states the shape that the family needs; else the first column that it lacks.
std::string missing_column(const MappingRule& family, const MeasuredRow& row) {
  const Value* required = family.outputs->find("required");
  STEPCAST_CHECK(required != nullptr, "a family of mapping.toml lists no required columns");
  for (const Value& column : required->array) {
    if (!row.has(column.string)) return column.string;
  }
  return "";
}

/// The keys of a config.json, out of the shape columns.
Value config_of(const MappingRule& family, long sequence, RowMapper& mapper) {
  const MeasuredRow& row = mapper.row();
  TableMaker config(row);
  if (const Value* constants = family.table("constants")) {
    for (const Value::Entry& entry : constants->table) config.set(entry.key, entry.value);
  }
  const Value* columns = family.table("columns");
  const Value* defaults = family.table("defaults");
  for (const Value::Entry& entry : columns->table) {
    if (const auto given = row.count(entry.key)) {
      config.set(entry.value.string, *given);
    } else if (const Value* value = defaults != nullptr ? defaults->find(entry.key) : nullptr) {
      config.set(entry.value.string, *value);
      mapper.assume(entry.key + " " + value->to_text());
    }
  }
  if (const auto key = family.text("sequence")) config.set(*key, sequence);
  return config.value();
}

}  // namespace

MappedModel map_model(RowMapper& mapper) {
  const MeasuredRow& row = mapper.row();
  const MappingRule& rule = mapper.require("model", "model {model} is not of a known family");
  MappedModel model;
  model.optimizer = rule.text("optimizer").value_or(model.optimizer);
  const Value* images = rule.outputs->find("images");
  model.images = images != nullptr && images->boolean;
  long sequence = 0;
  if (!model.images) {
    if (const auto stated = row.count("seq_len")) {
      sequence = model.tokens = *stated;
    } else if (const auto usual = rule.number("sequence_length")) {
      sequence = model.tokens = static_cast<long>(*usual);
      mapper.assume("sequence length " + std::to_string(sequence) + " (the model's default)");
    } else {
      throw SkippedRow{"no sequence length"};
    }
    sequence = static_cast<long>(rule.number("tokens").value_or(static_cast<double>(sequence)));
  }

  TableMaker section(row);
  const auto preset = rule.text("preset"), family = rule.text("family");
  const std::string missing = family ? missing_column(mapper.mapping().family(*family), row) : "layers";
  if (family && missing.empty()) {
    section.set("config", config_of(mapper.mapping().family(*family), sequence, mapper));
  } else if (preset) {
    section.set("preset", *preset);
  } else if (const Value* config = rule.table("config")) {
    section.set("config", *config);
  } else {
    throw SkippedRow{"model " + row.text("model") + ": the shape is not stated (" + missing + " is empty)"};
  }
  if (!model.images) section.set("sequence_length", sequence);
  model.section = section.value();
  model.name = preset.value_or(row.text("model"));
  return model;
}

}  // namespace stepcast::detail
