#include "sim/collective/link_loads.hpp"

namespace stepcast {
namespace {

/// Parent in the first tree: the number with its lowest set bit cleared and the next one set, or, past the
/// end, only cleared. 0 is the root.
int parent_of(int node, int nodes) {
  const int lowest = node & -node;
  const int up = (node ^ lowest) | (lowest << 1);
  return up < nodes ? up : node ^ lowest;
}

}  // namespace

std::vector<TreeEdge> double_tree(int nodes) {
  std::vector<TreeEdge> edges;
  for (int node = 1; node < nodes; ++node) {
    const int parent = parent_of(node, nodes);
    edges.push_back({node, parent});
    if (nodes % 2 == 0)
      edges.push_back({nodes - 1 - node, nodes - 1 - parent});
    else
      edges.push_back({(node + 1) % nodes, (parent + 1) % nodes});
  }
  return edges;
}

}  // namespace stepcast
