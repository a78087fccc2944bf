#include "sim/report/network.hpp"

#include <algorithm>
#include <vector>

namespace stepcast {
namespace {

/// Outside of the measured sizes only the ratio of the nearest one to the model is used.
bool within_measured_sizes(const Profile& profile, const std::string& fabric,
                           const CollectiveDescription& call) {
  return std::any_of(profile.collectives.begin(), profile.collectives.end(),
                     [&](const MeasuredCollective& measured) {
                       return measured.fabric == fabric && measured.operation == call.operation &&
                              measured.ranks == call.ranks && !measured.points.empty() &&
                              measured.points.front().first.value <= call.bytes &&
                              call.bytes <= measured.points.back().first.value;
                     });
}

}  // namespace

NetworkUse network_use(const Program& program, const Cluster& cluster, const Profile& profile) {
  const auto is_nic = [&](const Load& load) {
    const int link = program.resources[static_cast<std::size_t>(load.resource)].link;
    return load.weight > 0 && link >= 0 &&
           cluster.links()[static_cast<std::size_t>(link)].kind == LinkKind::nic;
  };
  NetworkUse use;
  std::vector<bool> loaded(program.resources.size(), false);
  for (const CollectiveCost& cost : program.collective_costs) {
    bool crosses = false;
    for (const Load& load : cost.loads) {
      if (!is_nic(load)) continue;
      crosses = true;
      loaded[static_cast<std::size_t>(load.resource)] = true;
    }
    if (!crosses) continue;
    const auto& described = program.descriptions[static_cast<std::size_t>(cost.description)];
    const bool near = within_measured_sizes(profile, cluster.request().fabric.name, described);
    use.measured = use.measured || (described.measured && near);
    use.extrapolated = use.extrapolated || described.extrapolated || (described.measured && !near);
  }
  int directions = 0;  // of NICs, over all nodes
  for (std::size_t i = 0; i < loaded.size(); ++i) {
    if (loaded[i]) directions += program.resources[i].links;
  }
  const int per_nic = 2 * cluster.node_count();
  use.nics_per_node = (directions + per_nic - 1) / per_nic;
  return use;
}

}  // namespace stepcast
