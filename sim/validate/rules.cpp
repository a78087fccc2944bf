#include "sim/validate/rules.hpp"

#include <algorithm>
#include <span>

#include "base/diagnostic.hpp"
#include "base/embedded.hpp"

namespace stepcast {

std::span<const EmbeddedFile> embedded_validation_mapping();

namespace {

class MappingReader {
 public:
  explicit MappingReader(const MappingSchema& schema) : schema_(schema) {}

  MappingRule rule(const Value& table, const std::string& section, const std::vector<std::string>& known) {
    MappingRule made;
    made.outputs = &table;
    if (table.kind != Value::Kind::table) {
      faults_.push_back({table.place, section + ": expected a table", ""});
      return made;
    }
    for (const Value::Entry& entry : table.table) {
      if (entry.key == "when") {
        read_conditions(entry.value, made);
      } else if (std::find(known.begin(), known.end(), entry.key) == known.end()) {
        faults_.push_back({entry.key_place, "unknown key \"" + section + "." + entry.key + "\"",
                           suggest(entry.key, known)});
      }
    }
    return made;
  }

  void unknown_section(const Value::Entry& entry) {
    std::vector<std::string> known;
    if (!schema_.family_keys.empty()) known.push_back("family");
    for (const auto& [name, keys] : schema_.sections) known.push_back(name);
    faults_.push_back({entry.key_place, "unknown section \"" + entry.key + "\"", suggest(entry.key, known)});
  }

  void finish() {
    if (!faults_.empty()) throw ScenarioError(std::move(faults_));
  }

 private:
  void read_conditions(const Value& when, MappingRule& rule) {
    for (const Value::Entry& entry : when.table) {
      const auto columns = schema_.columns;
      const bool known = entry.key.starts_with('@') || entry.key == "notes" ||
                         std::find(columns.begin(), columns.end(), entry.key) != columns.end();
      if (!known) faults_.push_back({entry.key_place, "unknown column \"" + entry.key + "\"", ""});
      try {
        rule.conditions.push_back({entry.key,
                                   std::regex(entry.value.string, std::regex::ECMAScript | std::regex::icase |
                                                                      std::regex::optimize),
                                   entry.value.string});
      } catch (const std::regex_error& error) {
        faults_.push_back({entry.value.place, "not a regular expression: " + std::string(error.what()), ""});
      }
    }
  }

  const MappingSchema& schema_;
  std::vector<Diagnostic> faults_;
};

}  // namespace

std::optional<std::string> MappingRule::text(std::string_view key) const {
  const Value* value = outputs->find(key);
  if (value == nullptr || value->kind != Value::Kind::string) return std::nullopt;
  return value->string;
}

std::optional<double> MappingRule::number(std::string_view key) const {
  const Value* value = outputs->find(key);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  return value->real;
}

const Value* MappingRule::table(std::string_view key) const {
  const Value* value = outputs->find(key);
  return value != nullptr && value->kind == Value::Kind::table ? value : nullptr;
}

const Mapping& Mapping::shipped() {
  static const Mapping mapping(embedded_validation_mapping().front().text, "sim/validate/mapping.toml");
  return mapping;
}

const MappingSchema& Mapping::training_schema() {
  // Docs at the top of mapping.toml.
  static const MappingSchema schema = {
      {{"skip", {"reason"}},
       {"gpu", {"node", "fabric", "reason", "assumed"}},
       {"network", {"kind", "nics_per_node", "gbps_per_nic", "read", "reason", "assumed"}},
       {"software", {"software", "training", "reason", "assumed"}},
       {"precision", {"precision", "reason", "assumed"}},
       {"strategy", {"strategy", "reason", "assumed"}},
       {"checkpointing", {"checkpointing", "reason", "assumed"}},
       {"model",
        {"preset", "family", "config", "sequence_length", "tokens", "optimizer", "images", "defaults",
         "reason", "assumed"}},
       {"metric", {"kind", "scale", "per_gpu", "reason"}},
       {"flops", {"formula", "reason"}}},
      measured_columns(),
      {"columns", "required", "defaults", "constants", "sequence"}};
  return schema;
}

Mapping::Mapping(std::string_view toml, const std::string& file, const MappingSchema& schema)
    : document_(parse_toml(toml, file)) {
  MappingReader reader(schema);
  for (const Value::Entry& entry : document_.table) {
    if (entry.key == "family" && !schema.family_keys.empty()) {
      for (const Value::Entry& family : entry.value.table) {
        families_.emplace(family.key, reader.rule(family.value, "family", schema.family_keys));
      }
      continue;
    }
    const auto known = schema.sections.find(entry.key);
    if (known == schema.sections.end()) {
      reader.unknown_section(entry);
      continue;
    }
    for (const Value& table : entry.value.array) {
      sections_[entry.key].push_back(reader.rule(table, entry.key, known->second));
    }
  }
  reader.finish();
}

const MappingRule* Mapping::first(std::string_view section, const MeasuredRow& row) const {
  const auto found = sections_.find(section);
  if (found == sections_.end()) return nullptr;
  for (const MappingRule& rule : found->second) {
    const bool matches = std::all_of(
        rule.conditions.begin(), rule.conditions.end(), [&](const MappingRule::Condition& condition) {
          return std::regex_search(row.text(condition.column), condition.pattern);
        });
    if (matches) return &rule;
  }
  return nullptr;
}

bool Mapping::has_family(std::string_view name) const { return families_.find(name) != families_.end(); }

const MappingRule& Mapping::family(std::string_view name) const {
  const auto found = families_.find(name);
  STEPCAST_CHECK(found != families_.end(), "mapping.toml names no family " + std::string(name));
  return found->second;
}

std::string filled_in(std::string_view text, const MeasuredRow& row) {
  std::string made;
  while (!text.empty()) {
    const std::size_t open = text.find('{');
    const std::size_t close = open == std::string_view::npos ? open : text.find('}', open);
    if (close == std::string_view::npos) break;
    made += text.substr(0, open);
    made += row.text(text.substr(open + 1, close - open - 1));
    text.remove_prefix(close + 1);
  }
  return made + std::string(text);
}

}  // namespace stepcast
