#include <limits>

#include "sim/scenario/read_sections.hpp"
#include "topology/written_network.hpp"

namespace stepcast::detail {
namespace {

/// Where the number of nodes stands.
SourcePlace nodes_place(TableReader& reader) {
  const Value* nodes = reader.raw("nodes");
  return nodes == nullptr ? reader.place() : nodes->place;
}

void use_written(TableReader& reader, ReadResult& result) {
  ClusterSection& cluster = result.scenario.cluster;
  if (reader.has("topology") && cluster.topology != "graph") {
    reader.fault("topology", "the fabric file writes its network out in [graph]",
                 "leave topology out, or use a fabric without [graph]");
  }
  cluster.topology = "graph";
  const int written = cluster.fabric_spec.graph->nodes;
  if (cluster.nodes <= written) return;
  result.impossible.push_back({nodes_place(reader),
                               "cluster.nodes is " + std::to_string(cluster.nodes) + " but [graph] of " +
                                   cluster.fabric + " has cards of " + std::to_string(written) + " node" +
                                   (written == 1 ? "" : "s"),
                               "add the others to graph.nics"});
}

void read_torus(TableReader& reader, ReadResult& result) {
  ClusterSection& cluster = result.scenario.cluster;
  const std::string expected = "two or three sizes whose product is cluster.nodes: torus = [4, 4]";
  if (const Value* sizes = reader.raw("torus")) {
    bool sound = sizes->kind == Value::Kind::array && (sizes->array.size() == 2 || sizes->array.size() == 3);
    std::int64_t routers = 1;
    for (const Value& size : sizes->array) {
      sound = sound && size.kind == Value::Kind::integer && size.integer >= 1 && size.integer <= 100'000;
      if (!sound) break;
      routers *= size.integer;
      cluster.torus.push_back(static_cast<int>(size.integer));
    }
    if (!sound) {
      cluster.torus.clear();
      reader.fault("torus", "cluster.torus is " + sizes->to_text(), "expected " + expected);
    } else if (cluster.topology == "torus" && routers != cluster.nodes) {
      result.impossible.push_back({sizes->place,
                                   "cluster.torus has " + std::to_string(routers) +
                                       " routers, one per node, but cluster.nodes is " +
                                       std::to_string(cluster.nodes),
                                   "expected " + expected});
    }
  } else if (cluster.topology == "torus") {
    reader.require("torus", expected);
  }
  cluster.torus_link_rate = reader.rate("torus_link_rate").value_or(BytesPerSecond{});
  if (reader.has("torus_link_rate") && !(cluster.torus_link_rate.value > 0))
    reader.fault("torus_link_rate", "cluster.torus_link_rate must be above 0");
}

/// A key that only some topologies read.
void note_unused(const TableReader& reader, std::string_view key, std::initializer_list<const char*> used_by,
                 ReadResult& result) {
  if (!reader.has(key)) return;
  const std::string& topology = result.scenario.cluster.topology;
  for (const char* name : used_by)
    if (topology == name) return;
  result.scenario.notes.push_back("cluster." + std::string(key) + " is not used by topology " + topology);
}

}  // namespace

void read_topology(TableReader& reader, ReadResult& result) {
  ClusterSection& cluster = result.scenario.cluster;
  cluster.topology = reader
                         .choice("topology", {"single-switch", "leaf-spine", "fat-tree", "rail-optimized",
                                              "rail-only", "dragonfly+", "torus", "graph"})
                         .value_or(cluster.topology);
  if (cluster.fabric_spec.graph) {
    use_written(reader, result);
  } else if (cluster.topology == "graph") {
    reader.fault("topology", "cluster.topology \"graph\" needs a fabric file with [graph]",
                 "name such a file as the fabric, or choose another topology");
  }
  cluster.oversubscription = reader.number("oversubscription", 1, 1000).value_or(1.0);
  if (cluster.oversubscription > 1)
    note_unused(reader, "oversubscription", {"leaf-spine", "fat-tree", "rail-optimized", "dragonfly+"},
                result);
  cluster.core_oversubscription = reader.number("core_oversubscription", 1, 1000).value_or(1.0);
  if (cluster.core_oversubscription > 1)
    note_unused(reader, "core_oversubscription", {"fat-tree", "rail-optimized"}, result);
  cluster.dragonfly_group = static_cast<int>(reader.integer("dragonfly_group", 1, 4096).value_or(0));
  cluster.dragonfly_links = static_cast<int>(reader.integer("dragonfly_links", 1, 1'000'000).value_or(0));
  note_unused(reader, "dragonfly_group", {"dragonfly+"}, result);
  note_unused(reader, "dragonfly_links", {"dragonfly+"}, result);
  read_torus(reader, result);
  note_unused(reader, "torus", {"torus"}, result);
  note_unused(reader, "torus_link_rate", {"torus"}, result);
  cluster.routing = reader.choice("routing", {"spray", "ecmp", "static"}).value_or(cluster.routing);
  cluster.routing_seed = static_cast<std::uint64_t>(
      reader.integer("routing_seed", 0, std::numeric_limits<std::int64_t>::max()).value_or(1));
  if (reader.has("routing_seed") && cluster.routing != "ecmp")
    result.scenario.notes.push_back("cluster.routing_seed is not used by routing " + cluster.routing);
}

}  // namespace stepcast::detail
