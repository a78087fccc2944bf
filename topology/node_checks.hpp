#pragma once

#include <vector>

#include "base/diagnostic.hpp"
#include "topology/node.hpp"

namespace stepcast {

/// Where the parts of a node file stand that are only wrong in company.
struct NodePlaces {
  SourcePlace file, gpus, nvlink, links_per_gpu, bus, nic_count, near_gpu;  ///< nvlink: also graph.links
  std::vector<SourcePlace> pairs;                                           ///< by entry of nvlink_mesh
  bool wires_faulty{};  ///< a rate, count or list of wires stands there but could not be read
};

/// Adds a fault for every pair out of range or given twice, a GPU with more links than it has, cards that do
/// not match their list, and every GPU (with [graph] also every card) that no other device reaches (searched
/// in the node's graph, as routes are). Faulty pairs are taken out of `node`.
void check_wiring(NodeSpec& node, NodePlaces& places, std::vector<Diagnostic>& faults);

}  // namespace stepcast
