#include "sim/collective/link_load_sum.hpp"

namespace stepcast {

std::vector<NetworkWay> network_ways(const NodePaths& paths, int node, int local_rank, int peer_node,
                                     int peer) {
  const auto &out = paths.nics_of(node, local_rank), &in = paths.nics_of(peer_node, peer);
  const double share = 1 / static_cast<double>(in.size());
  std::vector<NetworkWay> ways;
  ways.reserve(in.size());
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (!paths.rails() || !paths.has_nic(node, in[i])) {
      ways.push_back({local_rank, out[i % out.size()], in[i], share});
      continue;
    }
    const int feeder = paths.cluster().gpu_near_nic(in[i], node);
    const bool hand_over =
        feeder != local_rank && paths.all_nvlink(node, paths.between(node, local_rank, feeder));
    ways.push_back({hand_over ? feeder : local_rank, in[i], in[i], share});
  }
  // Where two rails do not meet the message takes cards of which one reaches the other.
  for (NetworkWay& way : ways)
    std::tie(way.nic, way.peer_nic) = paths.doors(node, way.nic, peer_node, way.peer_nic);
  return ways;
}

}  // namespace stepcast
