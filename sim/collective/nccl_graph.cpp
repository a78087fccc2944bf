#include "sim/collective/nccl_graph.hpp"

#include <algorithm>
#include <cmath>

namespace stepcast {
namespace {

constexpr double nothing_found = 0.1;  // GB/s, NCCL's own stand-in
constexpr double rounding = 1e-9;

int times(double whole, double part) { return static_cast<int>(std::floor(whole / part + rounding)); }

NcclGraph find_rings(const NcclTuningConstants& c, const NcclTopology& t) {
  const std::size_t generation = nccl_generation(t.compute_capability);
  const bool across = t.nodes > 1;
  NcclGraph best{0, 0, 0};
  double first = 0;
  for (const double speed : (across ? c.speeds_across : c.speeds_inside)[generation]) {
    if (first > 0 && speed <= c.lowest_speed * first) break;
    int channels = c.most_rings;
    if (t.per_node > 1) channels = std::min(channels, times(t.inside, speed));
    if (across) channels = std::min(channels, t.nics * times(t.nic_rate, speed));
    if (channels < 1) continue;
    if (first == 0) first = speed;
    if (channels * speed > best.channels * best.inside * (1 + rounding)) best = {channels, speed, speed};
  }
  return best.channels > 0 ? best : NcclGraph{1, nothing_found, nothing_found};
}

/// Fast channels are doubled at half the rate.
void double_fast(const NcclTopology& t, NcclGraph& graph) {
  constexpr double fast = 25, fast_enough = 50;
  constexpr int many = 4;
  if (graph.inside < fast) return;
  if (nccl_generation(t.compute_capability) >= 2 && graph.inside < fast_enough && graph.channels > many)
    return;
  graph = {2 * graph.channels, graph.inside / 2, graph.across / 2};
}

NcclGraph find_trees(const NcclTuningConstants& c, const NcclTopology& t, const NcclGraph& ring) {
  NcclGraph tree = ring;
  if (t.per_node < 2) return tree;
  const std::size_t generation = nccl_generation(t.compute_capability);
  const double g = t.per_node, there = t.inside * g / (g - 1);
  for (const double speed : (t.nodes > 1 ? c.speeds_across : c.speeds_inside)[generation])
    if (times(there, speed) >= ring.channels) {
      tree.inside = std::max(tree.inside, speed);
      break;
    }
  if (t.nodes == 1) tree.across = tree.inside;
  return tree;
}

NcclGraph find_nvls(const NcclTuningConstants& c, const NcclTopology& t) {
  if (t.gpu_nvlink <= 0 || t.per_node < 2) return {0, 0, 0};
  const std::size_t generation = nccl_generation(t.compute_capability);
  const bool across = t.nodes > 1;
  const int heads = std::min(t.per_node, c.most_rings);  // at most 32 of an NVL72's GPUs
  const double nic = across ? t.nics * t.nic_rate / t.per_node : t.gpu_nvlink;
  for (const double speed : (across ? c.speeds_across : c.speeds_inside)[generation])
    if ((heads + 1) * speed <= t.gpu_nvlink + rounding && speed <= nic + rounding)
      return {heads, speed, speed};
  return {0, 0, 0};
}

}  // namespace

NcclGraphs nccl_graphs(const NcclTuningConstants& constants, const NcclTopology& topology) {
  NcclGraphs graphs;
  graphs.ring = find_rings(constants, topology);
  double_fast(topology, graphs.ring);
  graphs.tree = find_trees(constants, topology, graphs.ring);
  graphs.nvls = find_nvls(constants, topology);
  // Older GPUs keep the balanced pattern at a lower rate; from Hopper on the search takes the plain one
  // first.
  graphs.plain_tree = topology.nodes > 1 && topology.per_node > 1 && topology.single_door &&
                      nccl_generation(topology.compute_capability) >= 2;
  return graphs;
}

int nccl_channels(const NcclTuningConstants& constants, const NcclTopology& topology, const NcclGraph& ring) {
  constexpr double fast = 45;
  constexpr int few = 16;
  int channels = 2 * ring.channels;
  if (nccl_generation(topology.compute_capability) >= 2 && topology.nodes > 1 && ring.inside > fast &&
      channels < few)
    channels *= 2;
  return std::min(channels, constants.most_channels);
}

}  // namespace stepcast
