#pragma once

#include <memory>
#include <vector>

#include "topology/cluster.hpp"
#include "topology/network_plan.hpp"

namespace stepcast {

/// The network between nodes: cards on switches, switches among each other, and the ways between them.
/// Laid out as cabled (network_plan.hpp), then damaged, then, for `spray`, with the switches of a level as
/// one device: packets spread evenly over them, so that only their sum counts.
class FabricGraph {
 public:
  /// New switches and links are appended to the cluster's: of each card one link up and one down, in the
  /// order of the ports, then of each cable one link in both directions.
  /// @throws std::invalid_argument: a fault that names nothing; a written graph that lacks a card
  FabricGraph(const ClusterRequest& request, const std::vector<FabricPort>& ports,
              const std::vector<LinkFault>& faults, std::vector<Device>& devices, std::vector<Link>& links);
  FabricGraph();
  ~FabricGraph();
  FabricGraph(FabricGraph&&) noexcept;
  FabricGraph& operator=(FabricGraph&&) noexcept;

  [[nodiscard]] bool connected(int port, int peer) const;
  /// Every link that bytes from card to card cross, with the share of them that it carries.
  /// @throws std::invalid_argument: no living way (naming both ends)
  [[nodiscard]] std::vector<FlowShare> flow(int port, int peer) const;
  /// The way with the greatest shares, from its first link to its last. Throws as `flow` does.
  [[nodiscard]] std::vector<int> path(int port, int peer) const;

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace stepcast
