#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.hpp"
#include "base/units.hpp"

namespace stepcast {

enum class Transport { ethernet, roce, infiniband, omnipath, efa, tcpx };  ///< ethernet: TCP sockets

struct WrittenNetwork;

/// The network between nodes, from a fabric TOML. Rates per NIC and direction.
struct FabricSpec {
  std::string name;  ///< "infiniband-400g"; also the link class of measured collectives
  Transport transport{};
  BytesPerSecond link_rate{};  ///< line rate of one NIC
  double efficiency{};     ///< share of the line rate that large messages reach (headers, encoding, protocol)
  Seconds link_latency{};  ///< one message, NIC to NIC through one switch
  Seconds staged_latency{};  ///< the same where messages pass through host memory, without GPUDirect
  Seconds switch_latency{};  ///< each further switch
  int leaf_ports{
      64};  ///< ports of a leaf switch, half of them towards nodes (leaf-spine, fat-tree, rail-optimized)
  bool sharp{};                  ///< the switches reduce (SHARP); NCCL uses it where CollNet is switched on
  int nics_per_node{};           ///< 0: the node's own number (one per GPU on most)
  bool gpudirect{};              ///< both this and the node's must hold
  BytesPerSecond staged_rate{};  ///< what one GPU passes through host memory without GPUDirect; 0: no limit
  /// What the platform's images set for NCCL: NCCL_ALGO, NCCL_PROTO, not NCCL_PXN_DISABLE. A scenario's
  /// [nccl] overrides.
  std::string nccl_algorithm, nccl_protocol;
  bool nccl_pxn{true};
  int flows_per_connection{1};    ///< queue pairs, each hashed by itself (ecmp); TCP: see the sockets
  int channels_per_nic{1};        ///< connections between two cards, one per channel of NCCL
  BytesPerSecond flow_ceiling{};  ///< TCP: the most that one socket moves; 0 = no ceiling
  /// TCP: connections between two nodes over all channels, with NCCL_SOCKET_NTHREADS x NSOCKS set, and by
  /// default.
  int sockets_tuned{}, sockets_untuned{};
  BytesPerSecond host_copy_rate{};              ///< TCP: staging through host memory, per NIC; 0 = not staged
  std::shared_ptr<const WrittenNetwork> graph;  ///< the network written out; nullptr: built by a topology
  bool interpolated{};  ///< built from neighbours: `<kind>-<N>g` without a file of its own
  std::string source;   ///< where the figures come from, for `origins`
};

/// A preset name `<ethernet|roce|infiniband|omnipath|efa|tcpx>-<N>g` for any N (with no file of its own it is
/// interpolated between the nearest rates), or a path.
/// @throws ScenarioError: unknown name at `place` with a suggestion, or the file's own faults.
[[nodiscard]] FabricSpec load_fabric(const std::string& name_or_path, const SourcePlace& place);
[[nodiscard]] std::vector<std::string> fabric_preset_names();

[[nodiscard]] std::string_view name_of(Transport transport);

}  // namespace stepcast
