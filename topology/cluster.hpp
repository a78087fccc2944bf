#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "topology/fabric.hpp"
#include "topology/node.hpp"

namespace stepcast {

enum class DeviceKind { gpu, nvswitch, pcie_switch, host, nic, leaf_switch, spine_switch };
enum class LinkKind { nvlink, pcie, host, nic, fabric };  ///< host: between sockets; nic: NIC to leaf; fabric: leaf to spine

[[nodiscard]] std::string_view name_of(LinkKind kind);

struct Device {
  DeviceKind kind{};
  int node{-1};   ///< -1 for switches of the fabric
  int index{};    ///< within its kind and node: local rank of a GPU, number of a NIC
  std::string name;  ///< "node2.gpu5"
};

/// One direction of a cable or bus.
struct Link {
  LinkKind kind{};
  int from{}, to{};  ///< devices
  BytesPerSecond capacity;  ///< raw rate of this direction; what a collective reaches of it is the profile's business
  Seconds latency;
};

/// What the scenario asks for, presets already loaded.
struct ClusterRequest {
  int nodes{1};
  NodeSpec node;
  int gpus_per_node{};  ///< used per node, 1 .. node.gpus
  FabricSpec fabric;    ///< rate, latency and NIC count already overridden by link_rate, link_latency, nics_per_node
  std::string topology{"single-switch"};  ///< also leaf-spine, fat-tree, rail-optimized, rail-only
  double oversubscription{1.0};           ///< leaf downlink over uplink capacity, >= 1
  std::string routing{"spray"};           ///< also ecmp, static
};

/// Devices and directed links of the whole cluster with routes between devices. Immutable; safe to share.
class Cluster {
 public:
  explicit Cluster(const ClusterRequest& request);
  ~Cluster();
  Cluster(Cluster&&) noexcept;
  Cluster& operator=(Cluster&&) noexcept;

  [[nodiscard]] const ClusterRequest& request() const;
  [[nodiscard]] std::span<const Device> devices() const;
  [[nodiscard]] std::span<const Link> links() const;
  [[nodiscard]] std::string link_name(int link) const;  ///< "node0.gpu3 -> node0.nvswitch0"

  [[nodiscard]] int gpu_count() const;
  [[nodiscard]] int gpus_per_node() const;
  [[nodiscard]] int node_count() const;
  [[nodiscard]] int nics_per_node() const;
  /// Device of global rank r: node r / gpus_per_node, local rank r % gpus_per_node.
  [[nodiscard]] int gpu_device(int rank) const;
  [[nodiscard]] int nic_device(int node, int nic) const;
  [[nodiscard]] int host_device(int node, int socket) const;
  /// NICs of the node by PCIe distance from the GPU (nearest first, ties by number).
  [[nodiscard]] std::vector<int> nics_near(int local_rank) const;
  /// The GPU (local rank) that feeds NIC `nic`: the nearest one, ties spread so that every NIC has its own.
  [[nodiscard]] int gpu_near_nic(int nic) const;

  /// Links of the cheapest path (NVLink before PCIe before host), in order; empty when from == to.
  /// With several spines the flows of a pair are spread evenly (`spray`) by the caller: see spine_share.
  [[nodiscard]] std::vector<int> route(int from, int to) const;
  /// Links from GPU `rank` through NIC `nic` of its node to NIC `peer_nic` of `peer_rank`'s node and to that GPU.
  /// Without GPUDirect the path goes through host memory at both ends.
  [[nodiscard]] std::vector<int> network_route(int rank, int nic, int peer_rank, int peer_nic) const;
  /// Number of direct NVLink connections between two local GPUs (mesh: 0, 1, 2; switch: all links of a GPU).
  [[nodiscard]] int nvlink_connections(int local_rank, int peer) const;
  /// True when every pair of GPUs of a node reaches each other by NVLink alone.
  [[nodiscard]] bool nvlink_everywhere() const;

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace stepcast
