#pragma once

#include "topology/node_wiring.hpp"

namespace stepcast {

// place_nics and wire_node (node_wiring.hpp) of a node that gives every wire by itself, node.wires.

[[nodiscard]] std::vector<NicPlace> place_graph_nics(const NodeSpec& node, int gpus_used,
                                                     const FabricSpec& fabric);
[[nodiscard]] NodeWiring wire_graph(const NodeSpec& node, int gpus_used, const std::vector<NicPlace>& nics);

}  // namespace stepcast
