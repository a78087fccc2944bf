#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "topology/fault.hpp"
#include "topology/node_wiring.hpp"
#include "topology/path_search.hpp"

namespace stepcast {

/// Paths within one node; one of these serves all nodes that are alike. Devices and links are numbered as in
/// NodeWiring. Searches run on first use and are kept; safe to share between threads.
class NodeGraph {
 public:
  /// @param faults  damage, named without "nodeN."; paths avoid what is dead
  /// @throws std::invalid_argument: a fault at something that the node does not have, a dead GPU
  NodeGraph(const NodeSpec& node, int gpus_used, const std::vector<NicPlace>& nics,
            const std::vector<LinkFault>& faults = {});

  [[nodiscard]] const NodeWiring& wiring() const { return wiring_; }
  /// Cheapest path of any two devices. GPU to GPU: by NVLink where it leads there, else over PCIe; without
  /// peer access through the memory of the sender's host. Empty when from == to.
  [[nodiscard]] std::vector<int> path(int from, int to) const;
  /// What a GPU sends to NIC `nic`. With GPUDirect over PCIe, or, when the card is nearer to another GPU,
  /// over NVLink to that GPU and from there (NCCL's PXN). Without it, to the host's memory first and from
  /// there to the card.
  [[nodiscard]] std::vector<int> to_nic(int gpu, int nic, bool gpudirect, bool pxn = true) const;
  /// The way back, which never passes through another GPU (PXN is for sending).
  [[nodiscard]] std::vector<int> from_nic(int nic, int gpu, bool gpudirect) const;
  /// Cards that live, nearest first.
  [[nodiscard]] std::vector<int> nics_near(int gpu) const;
  /// -1 for a dead card.
  [[nodiscard]] int gpu_near_nic(int nic) const { return feeder_.at(static_cast<std::size_t>(nic)); }
  /// Share of its line rate that a card has left, and of its speed a GPU.
  [[nodiscard]] double nic_remaining(int nic) const { return health_.nics.at(static_cast<std::size_t>(nic)); }
  [[nodiscard]] double gpu_speed(int gpu) const { return health_.gpus.at(static_cast<std::size_t>(gpu)); }
  [[nodiscard]] bool nvlink_everywhere() const;

 private:
  [[nodiscard]] const PathSearch::Row& row(int from, Reach reach) const;
  [[nodiscard]] std::vector<int> search(int from, int to, Reach reach) const;
  [[nodiscard]] std::vector<int> bus(int from, int to) const;
  [[nodiscard]] double bus_cost(int from, int to) const;
  /// For "near": a way beneath PCIe switches alone comes before one through a host, however many hops it has.
  [[nodiscard]] double distance(int from, int to) const;
  void find_feeders();

  NodeWiring wiring_;
  NodeHealth health_;
  bool peer_to_peer_;
  PathSearch search_;
  struct Rows {
    std::once_flag once;
    PathSearch::Row row;
  };
  std::unique_ptr<Rows[]> rows_;  ///< three for each device, one for each Reach
  std::vector<int> feeder_;
};

}  // namespace stepcast
