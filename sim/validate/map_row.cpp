#include "sim/validate/map_row.hpp"

#include "sim/validate/row_mapper.hpp"

namespace stepcast {
namespace detail {

const MappingRule& RowMapper::require(std::string_view section, std::string_view otherwise) {
  const MappingRule* rule = mapping_.first(section, row_);
  if (rule == nullptr) throw SkippedRow{filled_in(otherwise, row_)};
  if (const auto reason = rule->text("reason")) throw SkippedRow{filled_in(*reason, row_)};
  if (const auto assumed = rule->text("assumed")) assume(filled_in(*assumed, row_));
  return *rule;
}

long RowMapper::count(std::string_view column, std::string_view otherwise) const {
  const auto value = row_.count(column);
  if (!value) throw SkippedRow{std::string(otherwise)};
  return *value;
}

TableMaker::TableMaker(const MeasuredRow& row) {
  place_.file = row.file;
  place_.line = row.line;
  place_.column = 1;
  value_.kind = Value::Kind::table;
  value_.place = place_;
}

TableMaker& TableMaker::set(const std::string& key, Value value) {
  value.place = place_;
  value_.table.push_back({key, place_, std::move(value)});
  return *this;
}

}  // namespace detail

namespace {

void collect(const Value& table, const std::string& prefix,
             std::vector<std::pair<std::string, Value>>& settings) {
  for (const Value::Entry& entry : table.table) {
    const std::string key = prefix + entry.key;
    if (entry.value.kind == Value::Kind::table && key != "model.config") {
      collect(entry.value, key + ".", settings);
    } else {
      settings.emplace_back(key, entry.value);
    }
  }
}

}  // namespace

MappedRow map_row(const MeasuredRow& row, const Mapping& mapping) {
  detail::RowMapper mapper(row, mapping);
  if (const MappingRule* skip = mapping.first("skip", row)) {
    throw SkippedRow{filled_in(skip->text("reason").value_or(""), row)};
  }
  const detail::MappedModel model = detail::map_model(mapper);
  const detail::MappedCluster cluster = detail::map_cluster(mapper);
  const detail::MappedTraining training = detail::map_training(mapper, model, cluster);

  MappedRow mapped;
  mapped.measured = detail::measured_step(mapper, model, cluster, training);
  mapped.scenario = detail::TableMaker(row)
                        .set("model", model.section)
                        .set("cluster", cluster.section)
                        .set("training", training.section)
                        .value();
  mapped.assumed = mapper.assumed();
  mapped.source = row.text("source");
  mapped.gpu = cluster.gpu;
  mapped.model = model.name;
  mapped.software = training.software;
  mapped.strategy = training.strategy;
  mapped.gpus = cluster.gpus;
  mapped.nodes = cluster.nodes;
  return mapped;
}

std::vector<std::pair<std::string, Value>> settings_of(const Value& scenario) {
  std::vector<std::pair<std::string, Value>> settings;
  collect(scenario, "", settings);
  return settings;
}

}  // namespace stepcast
