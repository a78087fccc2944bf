#include "sim/validate/map_collective.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <span>

#include "base/diagnostic.hpp"
#include "base/embedded.hpp"
#include "base/quantity.hpp"
#include "sim/report/nccl_tests.hpp"
#include "sim/validate/row_mapper.hpp"
#include "topology/fabric.hpp"
#include "topology/node.hpp"

namespace stepcast {

std::span<const EmbeddedFile> embedded_collective_rules();

namespace {

using detail::RowMapper;
using detail::TableMaker;

/// A bandwidth that is rounded by more than this share gives no time.
constexpr double coarsest_rounding = 0.01;

/// What releases before those that are modelled count as.
constexpr NcclVersion oldest_version = NcclVersion::v2_18;

struct Nics {
  double count{}, gigabits{};
};

Operation operation_of(const MeasuredRow& row) {
  const auto operation = operation_named(row.text("collective"));
  if (!operation) throw SkippedRow{"operation \"" + row.text("collective") + "\" is not known"};
  return *operation;
}

/// The published time, or the one that the published bandwidth stands for.
/// A bus bandwidth is as good as an algorithm bandwidth once operation and ranks are known.
Seconds measured_time(const MeasuredRow& row, double bytes, Operation operation, double ranks) {
  if (const auto microseconds_ = row.number("time_us")) {
    if (*microseconds_ > 0) return microseconds(*microseconds_);
    throw SkippedRow{"the time is not above 0"};
  }
  auto rate = row.number("algbw_GBps");
  if (!rate && ranks > 1) {
    // One byte in one second has the operation's factor as its bus bandwidth.
    const double factor =
        CollectiveModel::bus_bandwidth(operation, Bytes(1), static_cast<int>(ranks), Seconds(1)).value;
    if (const auto bus = row.number("busbw_GBps")) rate = *bus / factor;
  }
  if (!rate || !(*rate > 0)) throw SkippedRow{"neither a time nor a bandwidth above 0"};
  for (const std::string_view column : {"algbw_GBps", "busbw_GBps"}) {
    const std::string& text = row.text(column);
    const std::size_t point = text.find('.');
    const double digits = point == std::string::npos ? 0 : static_cast<double>(text.size() - point - 1);
    if (!text.empty() && 0.5 * std::pow(10, -digits) > coarsest_rounding * row.number(column).value_or(0))
      throw SkippedRow{"no time: the bandwidth is rounded too coarsely to give one"};
  }
  return Bytes(bytes) / gigabytes_per_second(*rate);
}

/// "400", "12.5"
std::string print_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

/// What the section's first rule makes of the network's words: its number, or the one that its pattern reads.
std::optional<double> by_name(const RowMapper& mapper, std::string_view section, std::string_view key) {
  const MeasuredRow& row = mapper.row();
  const MappingRule* rule = mapper.mapping().first(section, row);
  if (rule == nullptr) return std::nullopt;
  const auto pattern = rule->text("read");
  std::smatch found;
  if (!pattern) return rule->number(key);
  if (!std::regex_search(row.text("inter_network"), found, std::regex(*pattern, std::regex::icase)))
    return std::nullopt;
  return std::stod(found[1].str());
}

/// Cards of a node: the columns, and where they are blank what the network's name and the platform say.
Nics nics_of(RowMapper& mapper, double trays) {
  const MeasuredRow& row = mapper.row();
  const MappingRule* platform = mapper.mapping().first("nics", row);
  STEPCAST_CHECK(platform != nullptr, "the last rule of [[nics]] must hold for all rows");
  const auto fill = [&](std::optional<double> stated, std::string_view section, std::string_view key,
                        const std::string& unit) {
    if (stated) return *stated;
    const auto named = by_name(mapper, section, key);
    const double value = named ? *named : platform->number(key).value_or(1);
    mapper.assume(print_number(value) + " " + unit +
                  (named ? " (by the network's name)" : " (usual for such nodes)"));
    return value;
  };
  const auto count = row.count("nics_per_node");
  Nics nics;
  nics.count = trays * fill(count ? std::optional(static_cast<double>(*count)) : std::nullopt, "count",
                            "nics_per_node", "network cards a node");
  nics.gigabits = fill(row.number("nic_gbps"), "speed", "gbps_per_nic", "Gb/s a network card");
  if (!(nics.gigabits > 0) || nics.gigabits > 10'000 || !(nics.count >= 1))
    throw SkippedRow{"the network cards are not plausible"};
  return nics;
}

/// [cluster] beyond its nodes: the fabric.
void set_network(RowMapper& mapper, TableMaker& cluster, long per_node, double trays) {
  const MappingRule& network =
      mapper.require("network", "network \"{inter_network}\" ({transport}) is not known");
  const std::string kind = network.text("kind").value_or("");
  mapper.found("@kind", kind);
  Nics nics = nics_of(mapper, trays);
  const double of_gpu = network.number("gbps_per_gpu").value_or(0);
  if (of_gpu > nics.gigabits && nics.count > static_cast<double>(per_node)) {
    const double merged = std::round(of_gpu / nics.gigabits);
    nics.count = std::max(1.0, std::floor(nics.count / merged));
    nics.gigabits *= merged;
  }
  const std::string fabric = kind + "-" + print_number(nics.gigabits) + "g";
  cluster.set("fabric", fabric).set("nics_per_node", std::lround(nics.count));
  if (const MappingRule* platform = mapper.mapping().first("platform", mapper.row())) {
    const Seconds more = parse_seconds(platform->text("step_latency").value_or("")).value_or(Seconds{});
    const double latency = (load_fabric(fabric, {}).link_latency + more).value * 1e9;
    cluster.set("link_latency", std::to_string(std::lround(latency)) + " ns");
  }
}

Value map_cluster_of(RowMapper& mapper, MappedCollective& made) {
  const MeasuredRow& row = mapper.row();
  const MappingRule& rule = mapper.require("gpu", "GPU {gpu} has no node preset");
  const std::string name = rule.text("node").value_or("");
  const NodeSpec node = load_node(name, {});
  const long stated_nodes = mapper.count("nodes", "the number of nodes is not stated");
  const long stated_gpus = mapper.count("gpus_per_node", "the number of GPUs a node is not stated");
  if (stated_nodes > 100'000 || stated_gpus > 1024) throw SkippedRow{"nodes or GPUs are not plausible"};
  long nodes = stated_nodes, per_node = stated_gpus;
  const long domain = std::lround(rule.number("domain").value_or(0));
  if (domain > 0) {  // trays of one NVLink domain are one node here
    const long gpus = nodes * per_node;
    per_node = std::min(domain, gpus);
    if (gpus % per_node != 0)
      throw SkippedRow{"GPUs do not fill NVLink domains of " + std::to_string(domain)};
    nodes = gpus / per_node;
  }
  if (per_node > node.gpus) {
    throw SkippedRow{std::to_string(per_node) + " GPUs a node, but " + name + " has " +
                     std::to_string(node.gpus)};
  }
  if (nodes * per_node < 2) throw SkippedRow{"one rank: nothing is communicated"};
  mapper.found("@node", name);
  made.ranks = static_cast<int>(nodes * per_node);
  made.nodes = static_cast<int>(nodes);
  made.gpu = node.gpu;
  TableMaker cluster(row);
  cluster.set("nodes", nodes).set("node", name).set("gpus_per_node", per_node);
  if (nodes > 1) {
    const double trays = domain > 0 ? static_cast<double>(per_node) / static_cast<double>(stated_gpus) : 1;
    set_network(mapper, cluster, per_node, trays);
  }
  return cluster.value();
}

/// [nccl]: its version, and what the run set.
Value map_nccl(RowMapper& mapper) {
  const MeasuredRow& row = mapper.row();
  TableMaker nccl(row);
  if (row.has("nccl_version")) {
    const std::string& text = row.text("nccl_version");
    const auto version = nccl_version_of(text);
    if (!version) mapper.assume("NCCL " + text + " as " + std::string(name_of(oldest_version)));
    nccl.set("version", std::string(name_of(version.value_or(oldest_version))));
  }
  for (const std::string key : {"algorithm", "protocol", "sockets"}) {
    if (const MappingRule* rule = mapper.mapping().first(key, row))
      nccl.set(key, rule->text(key).value_or(""));
  }
  return nccl.value();
}

void map_run(RowMapper& mapper, MappedCollective& made) {
  const MeasuredRow& row = mapper.row();
  const Mapping& rules = mapper.mapping();
  if (const MappingRule* harness = rules.first("harness", row)) {
    const auto time = [&](std::string_view key) {
      return parse_seconds(harness->text(key).value_or("")).value_or(Seconds{});
    };
    made.harness = time("per_call");
    std::smatch found;
    const std::string pattern = harness->text("gpus_per_process").value_or("");
    if (!pattern.empty() && std::regex_search(row.text("env_notes"), found, std::regex(pattern)))
      made.harness += (std::stod(found[1].str()) - 1) * time("per_further_gpu");
  }
  if (const MappingRule* timing = rules.first("timing", row))
    made.timing = timing->text("class").value_or("");
  for (const std::string_view section : {"unknown", "size"}) {
    if (const MappingRule* rule = rules.first(section, row))
      mapper.assume(filled_in(rule->text("assumed").value_or(""), row));
  }
}

}  // namespace

const MappingSchema& collective_schema() {
  static const MappingSchema schema = {
      {{"skip", {"reason"}},
       {"gpu", {"node", "domain", "reason", "assumed"}},
       {"network", {"kind", "gbps_per_gpu", "reason", "assumed"}},
       {"speed", {"gbps_per_nic", "read"}},
       {"count", {"nics_per_node", "read"}},
       {"nics", {"nics_per_node", "gbps_per_nic"}},
       {"platform", {"step_latency", "source"}},
       {"harness", {"per_call", "per_further_gpu", "gpus_per_process", "source"}},
       {"sockets", {"sockets", "source"}},
       {"algorithm", {"algorithm"}},
       {"protocol", {"protocol"}},
       {"unknown", {"assumed"}},
       {"timing", {"class"}},
       {"size", {"assumed"}}},
      collective_columns(),
      {}};
  return schema;
}

const Mapping& shipped_collective_rules() {
  static const Mapping rules(embedded_collective_rules().front().text, "sim/validate/collective_rules.toml",
                             collective_schema());
  return rules;
}

MappedCollective map_collective(const MeasuredRow& row, const Mapping& rules) {
  RowMapper mapper(row, rules);
  if (const MappingRule* skip = rules.first("skip", row))
    throw SkippedRow{filled_in(skip->text("reason").value_or(""), row)};
  MappedCollective made;
  made.operation = operation_of(row);
  const auto bytes = row.number("bytes");
  if (!bytes || !(*bytes >= 1) || *bytes > 1e15) throw SkippedRow{"the message size is not stated"};
  made.bytes = Bytes(*bytes);
  const double ranks = row.number("nodes").value_or(0) * row.number("gpus_per_node").value_or(0);
  made.measured = measured_time(row, *bytes, made.operation, ranks);
  made.in_place = row.text("in_place") == "1";
  made.set = row.text("set_id");
  Value cluster = map_cluster_of(mapper, made);
  map_run(mapper, made);
  made.transport = row.has("transport") ? row.text("transport") : "not stated";
  TableMaker document(row);
  made.scenario = document.set("cluster", std::move(cluster)).set("nccl", map_nccl(mapper)).value();
  made.assumed = std::move(mapper.assumed());
  return made;
}

}  // namespace stepcast
