#include "sim/collective/choice.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

namespace stepcast {
namespace {

constexpr int most_collnet_gpus = 8;  // of a node, NCCL's own limit

bool is_point_to_point(Operation operation) {
  return operation == Operation::all_to_all || operation == Operation::send_recv;
}

bool one_to_all(Operation operation) {
  return operation == Operation::broadcast || operation == Operation::reduce;
}

bool only_simple(Operation operation, Algorithm algorithm) {
  return operation == Operation::all_to_all || algorithm == Algorithm::nvls ||
         algorithm == Algorithm::nvls_tree || algorithm == Algorithm::collnet_direct ||
         algorithm == Algorithm::collnet_chain || algorithm == Algorithm::pat;
}

std::string collnet_obstacle(Operation operation, Algorithm algorithm, const GroupTraits& group,
                             const NodeTraits& node) {
  if (group.nodes == 1) return "it needs several nodes";
  if (!node.network_reduces) return "it needs a fabric that reduces and collnet switched on";
  if (group.per_node > most_collnet_gpus) return "it takes at most 8 GPUs of a node";
  if (algorithm == Algorithm::collnet_direct && group.per_node > 1 && !node.nvswitch)
    return "the node has no NVSwitch";
  return algorithm == Algorithm::collnet_chain && operation != Operation::all_reduce ? "it is for all_reduce"
                                                                                     : "";
}

/// Empty when the algorithm can run, else why not.
std::string obstacle(Operation operation, Algorithm algorithm, const GroupTraits& group,
                     const NodeTraits& node) {
  if (is_point_to_point(operation)) return algorithm == Algorithm::direct ? "" : "it only runs direct";
  if (algorithm == Algorithm::ring) return "";
  if (algorithm != Algorithm::direct && one_to_all(operation)) return "NCCL runs it as a ring";
  switch (algorithm) {
    case Algorithm::tree:
      return operation == Operation::all_reduce ? "" : "trees are for all_reduce";
    case Algorithm::nvls:
      if (!node.nvlink_sharp) return "the node has no switch that reduces";
      return group.nodes > 1 && !node.network_reduces
                 ? "nvls stays inside a node without CollNet; nvls_tree crosses"
                 : "";
    case Algorithm::nvls_tree:
      if (operation != Operation::all_reduce) return "it is for all_reduce";
      if (!node.nvlink_sharp) return "the node has no switch that reduces";
      return group.nodes == 1 ? "nvls_tree needs several nodes" : "";
    case Algorithm::hierarchical:
      return node.regular ? "" : "hierarchical needs the same number of ranks on every node";
    case Algorithm::collnet_direct:
    case Algorithm::collnet_chain:
      return collnet_obstacle(operation, algorithm, group, node);
    case Algorithm::pat:
      if (operation == Operation::all_reduce) return "PAT is for all_gather and reduce_scatter";
      if (!node.pat) return "this version of NCCL has no PAT";
      return group.per_node > 1 || group.nodes == 1 ? "PAT needs one rank on each of several nodes" : "";
    default:
      return "direct is for all_to_all and send_recv";
  }
}

std::vector<Algorithm> algorithms_for(Operation operation, const GroupTraits& group, const NodeTraits& node,
                                      const NcclOptions& nccl) {
  if (is_point_to_point(operation)) return {Algorithm::direct};
  constexpr std::array candidates{Algorithm::tree,
                                  Algorithm::ring,
                                  Algorithm::collnet_direct,
                                  Algorithm::collnet_chain,
                                  Algorithm::nvls,
                                  Algorithm::nvls_tree,
                                  Algorithm::pat};
  std::vector<Algorithm> possible, wanted;
  for (const Algorithm algorithm : candidates) {
    if (!obstacle(operation, algorithm, group, node).empty()) continue;
    possible.push_back(algorithm);
    if (std::find(nccl.algorithms.begin(), nccl.algorithms.end(), algorithm) != nccl.algorithms.end())
      wanted.push_back(algorithm);
  }
  return wanted.empty() ? possible : wanted;
}

std::vector<Protocol> protocols_for(const NodeTraits& node, const NcclOptions& nccl,
                                    const CollectiveForce& force) {
  if (force.protocol != Protocol::automatic) return {force.protocol};
  if (!nccl.protocols.empty()) return nccl.protocols;
  if (node.ll128) return {Protocol::ll, Protocol::ll128, Protocol::simple};
  return {Protocol::ll, Protocol::simple};
}

}  // namespace

std::vector<Way> possible_ways(Operation operation, const GroupTraits& group, const NodeTraits& node,
                               const NcclOptions& nccl, const CollectiveForce& force) {
  std::vector<Algorithm> algorithms{force.algorithm};
  if (force.algorithm == Algorithm::automatic) {
    algorithms = algorithms_for(operation, group, node, nccl);
  } else if (const auto why = obstacle(operation, force.algorithm, group, node); !why.empty()) {
    throw std::invalid_argument(std::string(name_of(operation)) + " can't run as " +
                                std::string(name_of(force.algorithm)) + ": " + why);
  }
  std::vector<Way> ways;
  for (const Algorithm algorithm : algorithms) {
    const auto protocols = protocols_for(node, nccl, force);
    if (only_simple(operation, algorithm)) {
      const bool allowed = std::find(protocols.begin(), protocols.end(), Protocol::simple) != protocols.end();
      if (allowed || algorithms.size() == 1) ways.push_back({algorithm, Protocol::simple});
      continue;
    }
    for (const Protocol protocol : protocols) {
      // Messages between two ranks know LL and Simple only, unless asked for.
      if (operation == Operation::send_recv && protocol == Protocol::ll128 && force.protocol != protocol)
        continue;
      ways.push_back({algorithm, protocol});
    }
  }
  return ways;
}

}  // namespace stepcast
