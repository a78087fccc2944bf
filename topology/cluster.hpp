#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "topology/fabric.hpp"
#include "topology/fault.hpp"
#include "topology/node.hpp"

namespace stepcast {

/// leaf_switch: has cards (also a router of a torus); spine_switch: has none.
enum class DeviceKind { gpu, nvswitch, pcie_switch, host, nic, leaf_switch, spine_switch };
/// pcie: also NVLink-C2C of a GPU to its CPU; host: between sockets (cpu-host: core to memory); nic: NIC to
/// switch; fabric: between switches.
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

/// The share of a flow's bytes that a link carries.
struct FlowShare {
  int link{};
  double share{};
};

/// Nodes that differ from the others: another server, slower or fewer network cards.
struct NodeGroup {
  int first{}, count{1};  ///< node numbers first .. first + count - 1
  NodeSpec node;
  std::optional<BytesPerSecond> link_rate;  ///< of their cards; else the fabric's
  std::optional<int> nics_per_node;         ///< else the fabric's, or the node's own
};

/// Traffic of other jobs: a share of the links at `at`, or a flow between two devices.
struct BackgroundLoad {
  std::string at;  ///< as Cluster::links_at takes it
  double share{};  ///< of those links' rate, which nobody else gets
  std::string from, to;
  std::optional<BytesPerSecond> rate;  ///< at most; without it the flow takes whatever is its fair share
};

/// A flow of another job on its way.
struct BackgroundFlow {
  std::vector<FlowShare> links;
  std::optional<BytesPerSecond> rate;
};

/// What the scenario asks for, presets already loaded.
struct ClusterRequest {
  int nodes{1};
  NodeSpec node;
  int gpus_per_node{};  ///< used per node, 1 .. node.gpus
  FabricSpec
      fabric;  ///< rate, latency and NIC count already overridden by link_rate, link_latency, nics_per_node
  std::string topology{"single-switch"};  ///< also leaf-spine, fat-tree, rail-optimized, rail-only,
                                          ///< dragonfly+, torus, graph (the fabric's own)
  double oversubscription{1.0};           ///< leaf downlink over uplink capacity, >= 1
  double core_oversubscription{1.0};      ///< the same of a pod's spines towards the cores, >= 1
  int dragonfly_group{};                  ///< leaves of a group; 0: half of a switch's ports
  int dragonfly_links{};                  ///< between two groups; 0: as many as uplinks share out
  std::vector<int> torus;                 ///< sizes, two or three; their product is the number of nodes
  BytesPerSecond torus_link_rate;         ///< between two routers; 0: all cards of a node together
  std::string routing{"spray"};           ///< also ecmp, static
  std::uint64_t routing_seed{1};          ///< of ecmp's hash
  bool pxn{true};  ///< a GPU that is not beside a card may send over NVLink by the GPU that is
  std::vector<NodeGroup> node_groups;  ///< nodes beyond `nodes` are left out
  std::vector<LinkFault> faults;       ///< those at nodes beyond `nodes` are left out
  std::vector<BackgroundLoad> background;

  [[nodiscard]] const NodeSpec& node_at(int index) const;
};

/// Devices and directed links of the whole cluster with routes between devices. Immutable; safe to share.
/// Only the GPUs that are used are built. Without a fabric (link_rate 0) there is no network, and one node
/// only.
class Cluster {
 public:
  /// @throws std::invalid_argument: counts below 1 or above a node's, oversubscription below 1, a topology
  /// or routing that is not known, a torus of another number of nodes, a written graph that lacks a card,
  /// several nodes without a fabric, a fault at something that is not there or that leaves a node without
  /// network.
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
  [[nodiscard]] int nics_per_node() const;  ///< of the first node
  [[nodiscard]] int nics_of_node(int node) const;
  /// Nodes of one class are alike in wiring, cards and damage; classes count from 0 in the order of their
  /// first node.
  [[nodiscard]] int node_class(int node) const;
  [[nodiscard]] int node_classes() const;
  [[nodiscard]] const NodeSpec& node_spec(int node) const;
  /// Number of the node's first link; its others follow in the order of its wiring.
  [[nodiscard]] int first_link(int node) const;
  /// Share of its usual speed at which the rank's GPU computes.
  [[nodiscard]] double gpu_speed(int rank) const;
  /// Links that a name stands for, both directions: a device (its links; of a NIC, its cable), a link
  /// "leaf0 - spine1", or a kind of link ("nvlink", "pcie", "host", "nic", "fabric").
  /// @throws std::invalid_argument: nothing bears that name (with a suggestion)
  [[nodiscard]] std::vector<int> links_at(const std::string& name) const;
  /// Share of the link's rate that other jobs take.
  [[nodiscard]] double background_share(int link) const;
  [[nodiscard]] std::span<const BackgroundFlow> background_flows() const;
  /// @throws std::invalid_argument: no such device (with a suggestion)
  [[nodiscard]] int device_named(const std::string& name) const;
  /// Device of global rank r: node r / gpus_per_node, local rank r % gpus_per_node.
  [[nodiscard]] int gpu_device(int rank) const;
  [[nodiscard]] int nic_device(int node, int nic) const;
  [[nodiscard]] int host_device(int node, int socket) const;
  /// Living NICs of the node by PCIe distance from the GPU (nearest first, ties by number).
  [[nodiscard]] std::vector<int> nics_near(int local_rank, int node = 0) const;
  /// The GPU (local rank) that feeds NIC `nic`: the nearest one, ties spread so that every NIC has its own.
  /// -1 for a dead NIC.
  [[nodiscard]] int gpu_near_nic(int nic, int node = 0) const;

  /// Links of the cheapest path (NVLink before PCIe before host before network), in order; empty when from ==
  /// to. GPUs of one node without NVLink and without peer access go through the memory of the sender's host;
  /// GPUs of different nodes by network_route with their nearest NICs (on rails: both on the receiver's
  /// rail). Where the network parts a flow (see fabric_flow), the way with the greatest shares.
  [[nodiscard]] std::vector<int> route(int from, int to) const;
  /// Links from GPU `rank` through NIC `nic` of its node to NIC `peer_nic` of `peer_rank`'s node and to that
  /// GPU. Without GPUDirect (fabric or node) the path goes through host memory at both ends: every PCIe link
  /// between is crossed once from GPU to host and once from host to NIC. With it, a GPU that is not beside
  /// the NIC sends over NVLink by the GPU that is (NCCL's PXN). On `rail-only`, where rails do not meet,
  /// peer_nic stands for both ends.
  [[nodiscard]] std::vector<int> network_route(int rank, int nic, int peer_rank, int peer_nic) const;
  /// Whether the network leads from one card to the other; rails may not meet.
  [[nodiscard]] bool connected(int node, int nic, int peer_node, int peer_nic) const;
  /// Links between two cards, their own cables included, with the share of the bytes that each carries.
  /// @throws std::invalid_argument: no living way
  [[nodiscard]] std::vector<FlowShare> fabric_flow(int node, int nic, int peer_node, int peer_nic) const;
  /// Its two ends inside the nodes: from a GPU to a card, and from a card to a GPU.
  [[nodiscard]] std::vector<int> way_to_nic(int node, int local_rank, int nic) const;
  [[nodiscard]] std::vector<int> way_from_nic(int node, int nic, int local_rank) const;
  /// True when both the node and the fabric let a NIC read GPU memory; of the cluster when all nodes do.
  [[nodiscard]] bool gpudirect() const;
  [[nodiscard]] bool gpudirect(int node) const;
  /// Number of direct NVLink connections between two local GPUs (mesh: 0, 1, 2; switch: all links of a GPU).
  [[nodiscard]] int nvlink_connections(int local_rank, int peer, int node = 0) const;
  /// True when every pair of GPUs of a node reaches each other by NVLink alone.
  [[nodiscard]] bool nvlink_everywhere() const;

 private:
  struct Implementation;
  void add_background(const BackgroundLoad& load);
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace stepcast
