#pragma once

#include <vector>

#include "base/document.hpp"
#include "topology/node_checks.hpp"

namespace stepcast {

/// Reads [graph] of a node file into `node`: wires, what they say of NVLink, sockets and cards, line rates of
/// cards, peer_to_peer, gpudirect, sharp. Needs node.gpus. A wire without a number of NVLinks counts as many
/// as its rate is greater than that of the slowest NVLink wire.
void read_node_graph(const Value& table, NodeSpec& node, NodePlaces& places, std::vector<Diagnostic>& faults);

}  // namespace stepcast
