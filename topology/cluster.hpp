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
/// pcie: also NVLink-C2C of a GPU to its CPU; host: between sockets (cpu-host: core to memory); nic: NIC to
/// leaf; fabric: leaf to spine.
enum class LinkKind { nvlink, pcie, host, nic, fabric };

[[nodiscard]] std::string_view name_of(LinkKind kind);

struct Device {
  DeviceKind kind{};
  int node{-1};      ///< -1 for switches of the fabric
  int index{};       ///< within its kind and node: local rank of a GPU, number of a NIC
  std::string name;  ///< "node2.gpu5"
};

/// One direction of a cable or bus.
struct Link {
  LinkKind kind{};
  int from{}, to{};  ///< devices
  BytesPerSecond
      capacity;     ///< raw rate of this direction; what a collective reaches of it is the profile's business
  Seconds latency;  ///< network: they add up to the fabric's; inside a node 0, since NCCL's steps carry it
};

/// What the scenario asks for, presets already loaded.
struct ClusterRequest {
  int nodes{1};
  NodeSpec node;
  int gpus_per_node{};  ///< used per node, 1 .. node.gpus
  FabricSpec
      fabric;  ///< rate, latency and NIC count already overridden by link_rate, link_latency, nics_per_node
  std::string topology{"single-switch"};  ///< also leaf-spine, fat-tree, rail-optimized, rail-only
  double oversubscription{1.0};           ///< leaf downlink over uplink capacity, >= 1
  std::string routing{"spray"};           ///< also ecmp, static
};

/// Devices and directed links of the whole cluster with routes between devices. Immutable; safe to share.
/// Only the GPUs that are used are built. Without a fabric (link_rate 0) there is no network, and one node
/// only.
class Cluster {
 public:
  /// @throws std::invalid_argument: counts below 1 or above the node's, oversubscription below 1, a topology
  /// or routing that is not known or not built yet (dragonfly+, torus), several nodes without a fabric.
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

  /// Links of the cheapest path (NVLink before PCIe before host before network), in order; empty when from ==
  /// to. GPUs of one node without NVLink and without peer access go through the memory of the sender's host;
  /// GPUs of different nodes by network_route with their nearest NICs (on rails: both on the receiver's
  /// rail). With routing `spray` all spines are one device and its links their sum, so the path is unique and
  /// carries the whole flow; with `ecmp` and `static` it runs over the one spine that the pair of NICs is
  /// hashed to.
  [[nodiscard]] std::vector<int> route(int from, int to) const;
  /// Links from GPU `rank` through NIC `nic` of its node to NIC `peer_nic` of `peer_rank`'s node and to that
  /// GPU. Without GPUDirect (fabric or node) the path goes through host memory at both ends: every PCIe link
  /// between is crossed once from GPU to host and once from host to NIC. With it, a GPU that is not beside
  /// the NIC sends over NVLink by the GPU that is (NCCL's PXN). On `rail-only`, where rails do not meet,
  /// peer_nic stands for both ends.
  [[nodiscard]] std::vector<int> network_route(int rank, int nic, int peer_rank, int peer_nic) const;
  /// True when both the node and the fabric let a NIC read GPU memory.
  [[nodiscard]] bool gpudirect() const;
  /// Number of direct NVLink connections between two local GPUs (mesh: 0, 1, 2; switch: all links of a GPU).
  [[nodiscard]] int nvlink_connections(int local_rank, int peer) const;
  /// True when every pair of GPUs of a node reaches each other by NVLink alone.
  [[nodiscard]] bool nvlink_everywhere() const;

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace stepcast
