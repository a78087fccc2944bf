#include "sim/scenario/read_sections.hpp"

namespace stepcast::detail {
namespace {

/// A cluster of one node needs no network; its NICs are never crossed.
FabricSpec no_fabric() {
  FabricSpec fabric;
  fabric.name = "none";
  fabric.transport = Transport::ethernet;
  fabric.link_rate = gigabits_per_second(1);
  fabric.efficiency = 1;
  fabric.nics_per_node = 1;
  fabric.source = "one node: not used";
  return fabric;
}

template <class Spec, class Load>
bool load_cached(std::map<std::string, Spec>& cache, const std::string& name, const SourcePlace& place,
                 Load load, ReadResult& result, Spec& loaded) {
  auto found = cache.find(name);
  if (found == cache.end()) {
    try {
      found = cache.emplace(name, load(name, place)).first;
    } catch (const ScenarioError& error) {
      result.faults.insert(result.faults.end(), error.diagnostics().begin(), error.diagnostics().end());
      return false;
    }
  }
  loaded = found->second;
  return true;
}

}  // namespace

void read_cluster(const Value& table, ReadCache& cache, ReadResult& result) {
  TableReader reader(table, "cluster", result.faults);
  ClusterSection& cluster = result.scenario.cluster;
  cluster.nodes = static_cast<int>(reader.integer("nodes", 1, 100'000).value_or(1));

  reader.require("node", "a node preset or a path to a node TOML, for example node = \"hgx-h100\"");
  bool node_known = false;
  if (const auto node = reader.string("node")) {
    const SourcePlace& place = reader.raw("node")->place;
    cluster.node = looks_like_path(*node) ? resolve_path(*node, place) : *node;
    cluster.node_place = place;
    node_known = load_node_cached(cluster.node, place, cache, result, cluster.node_spec);
  }
  if (const auto used = reader.integer("gpus_per_node", 1, 100'000)) {
    cluster.gpus_per_node = static_cast<int>(*used);
    if (node_known && cluster.gpus_per_node > cluster.node_spec.gpus) {
      result.impossible.push_back({reader.raw("gpus_per_node")->place,
                                   "cluster.gpus_per_node is " + std::to_string(*used) + " but " +
                                       cluster.node_spec.name + " has " +
                                       std::to_string(cluster.node_spec.gpus),
                                   "leave it out to use all"});
    }
  } else if (node_known) {
    cluster.gpus_per_node = cluster.node_spec.gpus;
  }

  bool fabric_known = false;
  if (const auto fabric = reader.string("fabric")) {
    const SourcePlace& place = reader.raw("fabric")->place;
    cluster.fabric = looks_like_path(*fabric) ? resolve_path(*fabric, place) : *fabric;
    fabric_known =
        load_cached(cache.fabrics, cluster.fabric, place, load_fabric, result, cluster.fabric_spec);
    if (fabric_known && cluster.fabric_spec.interpolated) {
      result.scenario.notes.push_back("fabric " + cluster.fabric +
                                      " has no figures of its own: taken from the nearest rates that do");
    }
  } else if (!reader.has("fabric")) {
    if (cluster.nodes > 1) {
      reader.fault("fabric",
                   "cluster.fabric is missing: " + std::to_string(cluster.nodes) + " nodes need a network",
                   "for example fabric = \"infiniband-400g\", \"roce-200g\" or \"ethernet-100g\"");
    }
    cluster.fabric_spec = no_fabric();
  }

  cluster.link_rate = reader.rate("link_rate");
  if (cluster.link_rate && !(cluster.link_rate->value > 0))
    reader.fault("link_rate", "cluster.link_rate must be above 0");
  cluster.link_latency = reader.seconds("link_latency");
  if (const auto nics = reader.integer("nics_per_node", 1, 1024))
    cluster.nics_per_node = static_cast<int>(*nics);
  if (cluster.link_rate) cluster.fabric_spec.link_rate = *cluster.link_rate;
  if (cluster.link_latency)
    cluster.fabric_spec.link_latency = cluster.fabric_spec.staged_latency = *cluster.link_latency;
  if (const auto sharp = reader.boolean("sharp")) cluster.fabric_spec.sharp = *sharp;
  if (cluster.nics_per_node) cluster.fabric_spec.nics_per_node = *cluster.nics_per_node;

  read_topology(reader, result);
  if (const Value* profiles = reader.raw("profile")) {
    for (const std::string& path : reader.strings("profile").value_or(std::vector<std::string>{})) {
      cluster.profiles.push_back(resolve_path(path, profiles->place));
    }
  }
  read_node_groups(reader, cache, result);
  read_faults(reader, result);
  reader.finish();
}

bool load_node_cached(const std::string& name, const SourcePlace& place, ReadCache& cache, ReadResult& result,
                      NodeSpec& loaded) {
  return load_cached(cache.nodes, name, place, load_node, result, loaded);
}

}  // namespace stepcast::detail
