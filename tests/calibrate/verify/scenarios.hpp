#pragma once

#include <string>

#include "sim/scenario/scenario.hpp"
#include "topology/fabric.hpp"
#include "topology/node.hpp"

namespace stepcast {

/// A cluster of presets; `fabric` is empty for one node.
inline Scenario cluster_scenario(int nodes, const std::string& node, int gpus_per_node,
                                 const std::string& fabric) {
  Scenario scenario;
  scenario.cluster.nodes = nodes;
  scenario.cluster.node = node;
  scenario.cluster.node_spec = load_node(node, {});
  scenario.cluster.gpus_per_node = gpus_per_node;
  if (!fabric.empty()) {
    scenario.cluster.fabric = fabric;
    scenario.cluster.fabric_spec = load_fabric(fabric, {});
  }
  return scenario;
}

}  // namespace stepcast
