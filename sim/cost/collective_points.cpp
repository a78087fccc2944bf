#include <utility>

#include "base/quantity.hpp"
#include "base/table_reader.hpp"
#include "sim/cost/profile_reader.hpp"

namespace stepcast {

std::vector<std::pair<Bytes, Seconds>> read_points(TableReader& table, const std::string& key,
                                                   bool zero_allowed, std::vector<Diagnostic>& faults) {
  std::vector<std::pair<Bytes, Seconds>> points;
  const Value* const list = table.raw(key);
  if (list == nullptr) return points;
  if (list->kind != Value::Kind::array || list->array.empty()) {
    table.fault(key, key + " must be a list of [size, time]", "for example [[\"1 MiB\", \"17.4 ms\"]]");
    return points;
  }
  for (const Value& entry : list->array) {
    if (entry.kind != Value::Kind::array || entry.array.size() != 2 ||
        entry.array[0].kind != Value::Kind::string || entry.array[1].kind != Value::Kind::string) {
      faults.push_back({entry.place, "a point of " + key + " must be two texts, a size and a time",
                        "for example [\"1 MiB\", \"17.4 ms\"]"});
      continue;
    }
    const auto size = parse_bytes(entry.array[0].string);
    const auto time = parse_seconds(entry.array[1].string);
    if (!size || !(*size > Bytes(0))) {
      faults.push_back({entry.array[0].place, "\"" + entry.array[0].string + "\" is no size above zero",
                        "units: " + std::string(bytes_units)});
    }
    if (!time || (!zero_allowed && !(*time > Seconds(0)))) {
      faults.push_back({entry.array[1].place,
                        "\"" + entry.array[1].string + "\" is no time" + (zero_allowed ? "" : " above zero"),
                        "units: " + std::string(seconds_units)});
    }
    if (!size || !time) continue;
    if (!points.empty() && !(*size > points.back().first)) {
      faults.push_back({entry.place,
                        key + " must ascend in size: \"" + entry.array[0].string +
                            "\" does not come after the point before it",
                        "sort the points; one time for each size"});
      continue;
    }
    points.emplace_back(*size, *time);
  }
  return points;
}

void read_collective_sections(const Value& tables, std::vector<MeasuredCollective>& into,
                              std::vector<Diagnostic>& faults) {
  for (const Value& entry : tables.array) {
    if (entry.kind != Value::Kind::table) continue;
    const std::size_t faults_before = faults.size();
    TableReader table(entry, "collective", faults);
    for (const char* key : {"operation", "ranks", "nodes", "fabric", "source", "points"}) {
      table.require(key, "what the measurement is of");
    }
    MeasuredCollective found;
    if (const auto word = table.choice("operation", {"all_reduce", "all_gather", "reduce_scatter",
                                                     "broadcast", "reduce", "all_to_all", "send_recv"})) {
      found.operation = *word;
    }
    if (const auto ranks = table.integer("ranks", 2, 10'000'000)) found.ranks = static_cast<int>(*ranks);
    if (const auto nodes = table.integer("nodes", 1, 10'000'000)) found.nodes = static_cast<int>(*nodes);
    if (found.ranks > 0 && found.nodes > found.ranks) {
      table.fault("nodes",
                  "a collective of " + std::to_string(found.ranks) + " ranks spans at most as many nodes");
    }
    if (const auto fabric = table.string("fabric")) found.fabric = *fabric;
    found.link_rate = table.rate("link_rate");
    if (const auto gpus = table.integer("gpus_per_node", 1, 1024))
      found.gpus_per_node = static_cast<int>(*gpus);
    if (const auto version = table.string("nccl_version")) found.nccl_version = *version;
    if (const auto source = table.string("source")) found.source = *source;
    if (const auto measured_on = table.string("measured_on")) found.measured_on = *measured_on;
    (void)table.number("spread", 0, 10);
    found.points = read_points(table, "points", false, faults);
    found.cpu_points = read_points(table, "cpu_points", true, faults);
    table.finish();
    if (faults.size() == faults_before) into.push_back(std::move(found));
  }
}

}  // namespace stepcast
