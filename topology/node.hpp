#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.hpp"
#include "base/units.hpp"
#include "topology/node_wire.hpp"

namespace stepcast {

struct NvlinkPair {
  int first{}, second{};  ///< local ranks
  int links{};            ///< 1 or 2 on DGX-1
};

/// How one server is wired, from a node TOML. Rates are datasheet rates per direction; every figure there has
/// a source.
struct NodeSpec {
  std::string name;  ///< "hgx-h100"
  std::string gpu;   ///< profile name of the GPU: "h100-sxm"
  int gpus{};        ///< in the node (or NVLink domain)
  enum class Nvlink { none, mesh, fabric_switch } nvlink{Nvlink::none};
  int nvlink_links_per_gpu{};
  BytesPerSecond nvlink_rate_per_link{};  ///< one direction
  bool nvlink_sharp{};                    ///< the switch reduces (NVLS)
  std::vector<NvlinkPair> nvlink_mesh;
  BytesPerSecond pcie_rate{};       ///< of one x16 slot, per direction
  BytesPerSecond host_link_rate{};  ///< GPU to its socket where that is not PCIe (NVLink-C2C); 0: pcie_rate
  int gpus_per_pcie_switch{};  ///< 0: every GPU (and NIC) hangs on its socket directly; 1: each GPU has its
                               ///< own switch
  bool pcie_peer_to_peer{};    ///< GPUs can read each other over PCIe; else through host memory
  int sockets{};
  std::string cpu{"intel"};  ///< intel, amd, arm, power: what NCCL's own model distinguishes
  int sockets_per_board{};   ///< sockets joined by socket_rate; 0: all of them (NVL72: each board its own)
  BytesPerSecond socket_rate{};  ///< between sockets, per direction
  BytesPerSecond host_memory_rate{};
  int nics_default{};  ///< NICs of an RDMA fabric; TCP fabrics state their own
  std::vector<int>
      nic_gpu;       ///< NIC i shares a PCIe switch with this local rank; else it hangs on that GPU's socket
  bool gpudirect{};  ///< NICs can read GPU memory
  bool host_device{};  ///< cpu-host: the "GPU" is one core of a plain machine
  /// [graph]: every wire by itself. Then `nvlink`, `sockets` and `nics_default` say what there is of each,
  /// nvlink_links_per_gpu is that of the GPU with most, nvlink_rate_per_link that of the slowest link,
  /// pcie_rate that of the fastest card's (else GPU's) slot, and the other figures of regular wiring are 0.
  std::vector<NodeWire> wires;
  std::vector<BytesPerSecond> nic_rates;  ///< line rates of the cards; empty: the fabric's
};

/// A preset name, or a path when it contains '/' or ends in ".toml" (relative paths are the caller's
/// business).
/// @throws ScenarioError: unknown preset at `place`, or the file's own faults.
[[nodiscard]] NodeSpec load_node(const std::string& name_or_path, const SourcePlace& place);
[[nodiscard]] std::vector<std::string> node_preset_names();
/// A node file's text; `file` is the name that faults carry, and without its folder and ending the node's
/// when the text gives none.
[[nodiscard]] NodeSpec parse_node(std::string_view toml, const std::string& file);

}  // namespace stepcast
