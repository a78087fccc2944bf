#include <stdexcept>

#include "sim/scenario/read_sections.hpp"

namespace stepcast {

ClusterRequest request_of(const ClusterSection& cluster) {
  ClusterRequest request;
  request.nodes = cluster.nodes;
  request.node = cluster.node_spec;
  request.gpus_per_node = cluster.gpus_per_node;
  request.fabric = cluster.fabric_spec;
  request.topology = cluster.topology;
  request.oversubscription = cluster.oversubscription;
  request.core_oversubscription = cluster.core_oversubscription;
  request.dragonfly_group = cluster.dragonfly_group;
  request.dragonfly_links = cluster.dragonfly_links;
  request.torus = cluster.torus;
  request.torus_link_rate = cluster.torus_link_rate;
  request.routing = cluster.routing;
  request.routing_seed = cluster.routing_seed;
  request.node_groups = cluster.node_groups;
  request.faults = cluster.faults;
  request.background = cluster.background;
  return request;
}

namespace detail {
namespace {

/// Names are checked against the cluster itself; it can only be built when nothing else is wrong.
void check_on_cluster(const ClusterSection& section, const SourcePlace& place, ReadResult& result) {
  if (!result.faults.empty() || !result.impossible.empty()) return;
  try {
    const Cluster built(request_of(section));
  } catch (const std::invalid_argument& fault) {
    result.impossible.push_back({place, fault.what(), ""});
  }
}

}  // namespace

void read_node_groups(TableReader& cluster_reader, ReadCache& cache, ReadResult& result) {
  const Value* groups = cluster_reader.tables("node_group");
  if (groups == nullptr) return;
  ClusterSection& cluster = result.scenario.cluster;
  int in_groups = 0;
  for (const Value& table : groups->array) {
    TableReader reader(table, "cluster.node_group", result.faults);
    NodeGroup group;
    group.count = static_cast<int>(reader.integer("nodes", 1, 100'000).value_or(1));
    group.node = cluster.node_spec;
    if (const auto node = reader.string("node")) {
      const SourcePlace& place = reader.raw("node")->place;
      load_node_cached(looks_like_path(*node) ? resolve_path(*node, place) : *node, place, cache, result,
                       group.node);
    }
    group.link_rate = reader.rate("link_rate");
    if (group.link_rate && !(group.link_rate->value > 0))
      reader.fault("link_rate", "cluster.node_group.link_rate must be above 0");
    if (const auto nics = reader.integer("nics_per_node", 1, 1024))
      group.nics_per_node = static_cast<int>(*nics);
    if (!reader.has("node") && !group.link_rate && !group.nics_per_node)
      reader.fault("nodes", "a node group that differs in nothing from the other nodes",
                   "give it a node, a link_rate or nics_per_node");
    reader.finish();
    in_groups += group.count;
    cluster.node_groups.push_back(std::move(group));
  }
  if (in_groups > cluster.nodes) {
    result.impossible.push_back({groups->place,
                                 "the node groups have " + std::to_string(in_groups) +
                                     " nodes but cluster.nodes is " + std::to_string(cluster.nodes),
                                 "cluster.nodes counts all nodes; groups take the last ones"});
    return;
  }
  int first = cluster.nodes - in_groups;
  for (NodeGroup& group : cluster.node_groups) {
    group.first = first;
    first += group.count;
  }
  check_on_cluster(cluster, groups->place, result);
}

void read_faults(TableReader& cluster_reader, ReadResult& result) {
  const Value* faults = cluster_reader.tables("fault");
  if (faults == nullptr) return;
  ClusterSection& cluster = result.scenario.cluster;
  for (const Value& table : faults->array) {
    TableReader reader(table, "cluster.fault", result.faults);
    LinkFault fault;
    reader.require("at", "a device or a link, for example at = \"node3.nic2\" or at = \"leaf0 - spine1\"");
    fault.at = reader.string("at").value_or("");
    fault.remaining = reader.number("remaining", 0, 1).value_or(0);
    reader.finish();
    if (fault.at.empty()) {
      if (table.find("at") != nullptr && table.find("at")->kind == Value::Kind::string)
        reader.fault("at", "cluster.fault.at names nothing",
                     "for example at = \"node3.nic2\" or at = \"leaf0 - spine1\"");
      continue;
    }
    const auto part = node_part_of(ends_of(fault.at).first);
    if (part && part->node >= cluster.nodes) {
      result.scenario.notes.push_back("the fault at " + fault.at + " is not used: the cluster has " +
                                      std::to_string(cluster.nodes) + " node" +
                                      (cluster.nodes == 1 ? "" : "s"));
      continue;
    }
    cluster.faults.push_back(fault);
    const SourcePlace& place = table.find("at")->place;
    check_on_cluster(cluster, place, result);
  }
}

void read_background(const Value& tables, ReadResult& result) {
  for (const Value& table : tables.array) {
    TableReader reader(table, "background", result.faults);
    BackgroundLoad load;
    load.at = reader.string("at").value_or("");
    load.share = reader.number("share", 0, 0.99).value_or(0);
    load.from = reader.string("from").value_or("");
    load.to = reader.string("to").value_or("");
    load.rate = reader.rate("rate");
    if (load.rate && !(load.rate->value > 0)) reader.fault("rate", "background.rate must be above 0");
    const bool on_links = reader.has("at") || reader.has("share");
    const bool flow = reader.has("from") || reader.has("to") || reader.has("rate");
    reader.finish();
    if (on_links == flow || (on_links && (load.at.empty() || !reader.has("share"))) ||
        (flow && (load.from.empty() || load.to.empty()))) {
      result.faults.push_back({table.place, "a background load is a share of links or a flow",
                               "expected at = \"fabric\", share = 0.3 or from = \"leaf0\", to = \"leaf3\", "
                               "rate = \"100 Gb/s\" (rate may be left out)"});
      continue;
    }
    result.scenario.cluster.background.push_back(std::move(load));
    check_on_cluster(result.scenario.cluster, table.find(on_links ? "at" : "from")->place, result);
  }
}

}  // namespace detail
}  // namespace stepcast
