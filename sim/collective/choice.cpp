#include "sim/collective/choice.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace stepcast {
namespace {

bool is_point_to_point(Operation operation) {
  return operation == Operation::all_to_all || operation == Operation::send_recv;
}

bool nvls_kind(Algorithm algorithm) {
  return algorithm == Algorithm::nvls || algorithm == Algorithm::nvls_tree;
}

/// Empty when the algorithm can run, else why not.
std::string obstacle(Operation operation, Algorithm algorithm, const GroupTraits& group,
                     const NodeTraits& node) {
  if (is_point_to_point(operation)) return algorithm == Algorithm::direct ? "" : "it only runs direct";
  if (algorithm == Algorithm::direct) return "direct is for all_to_all and send_recv";
  if (algorithm == Algorithm::ring) return "";
  if (algorithm == Algorithm::hierarchical) {
    if (operation == Operation::broadcast || operation == Operation::reduce)
      return "it has no hierarchical form";
    return node.regular ? "" : "hierarchical needs the same number of ranks on every node";
  }
  if (operation != Operation::all_reduce) return "NCCL runs it as a ring here";
  if (nvls_kind(algorithm)) {
    if (!node.nvlink_sharp) return "the node has no switch that reduces";
    if (algorithm == Algorithm::nvls && group.nodes > 1) return "nvls stays inside a node; nvls_tree crosses";
    if (algorithm == Algorithm::nvls_tree && group.nodes == 1) return "nvls_tree needs several nodes";
  }
  return "";
}

std::vector<Algorithm> usual_algorithms(const NcclConstants& constants, Operation operation,
                                        const GroupTraits& group, const NodeTraits& node) {
  if (is_point_to_point(operation)) return {Algorithm::direct};
  std::vector<Algorithm> usual{Algorithm::ring};
  if (operation == Operation::all_reduce) {
    usual.push_back(Algorithm::tree);
    if (node.nvlink_sharp && group.per_node >= constants.nvls_fewest_gpus)
      usual.push_back(group.nodes > 1 ? Algorithm::nvls_tree : Algorithm::nvls);
  }
  return usual;
}

}  // namespace

std::vector<Way> possible_ways(const NcclConstants& constants, Operation operation, const GroupTraits& group,
                               const NodeTraits& node, const CollectiveForce& force) {
  std::vector<Algorithm> algorithms{force.algorithm};
  if (force.algorithm == Algorithm::automatic) {
    algorithms = usual_algorithms(constants, operation, group, node);
  } else if (const auto why = obstacle(operation, force.algorithm, group, node); !why.empty()) {
    throw std::invalid_argument(std::string(name_of(operation)) + " can't run as " +
                                std::string(name_of(force.algorithm)) + ": " + why);
  }
  const bool ll128 = (group.nvlink || group.per_node == 1) && (group.nodes == 1 || group.gpudirect);
  std::vector<Way> ways;
  for (const Algorithm algorithm : algorithms) {
    // NVLS has no other protocol, and the all-to-all's constants are those of its Simple chunks.
    const bool only_simple = nvls_kind(algorithm) || operation == Operation::all_to_all;
    if (only_simple) {
      ways.push_back({algorithm, Protocol::simple});
    } else if (force.protocol != Protocol::automatic) {
      ways.push_back({algorithm, force.protocol});
    } else {
      ways.push_back({algorithm, Protocol::ll});
      if (ll128 && operation != Operation::send_recv) ways.push_back({algorithm, Protocol::ll128});
      ways.push_back({algorithm, Protocol::simple});
    }
  }
  return ways;
}

int channels_for(const NcclConstants& constants, const Way& way, Bytes payload, int ranks, int most) {
  double bytes = constants.channel_threads * constants.bytes_per_thread.of(way.protocol);
  if (way.algorithm == Algorithm::ring && way.protocol == Protocol::ll) bytes *= ranks;
  const double fit = std::floor(payload.value / bytes);
  return fit >= most ? most : std::max(1, static_cast<int>(fit));
}

}  // namespace stepcast
