#pragma once

#include <vector>

#include "topology/cluster.hpp"
#include "topology/fault.hpp"

namespace stepcast {

/// Where a network card hangs: beside a GPU (its PCIe switch, or its socket where there is none), or on a
/// socket.
struct NicPlace {
  int gpu{-1};  ///< local rank; -1: straight on the socket
  int socket{};
  int card{-1};  ///< [graph]: hangs where this card of the node does
};

/// Cards of one node for this fabric.
/// - TCP: the fabric's number (1 where it says 0), spread over the sockets.
/// - Others, number left to the node: the node's own cards that are near a GPU in use (NCCL does not drive
/// the cards
///   of idle GPUs: two of eight GPUs in use reached two cards' rate, set dgx_2n_2xh100_ib_ar).
/// - Others, number given: so many cards, spread over the places of those.
/// With [graph] each takes the place of one of the node's cards: those nearest to GPUs in use, for TCP any; a
/// node without cards gives its first socket.
[[nodiscard]] std::vector<NicPlace> place_nics(const NodeSpec& node, int gpus_used, const FabricSpec& fabric);

/// Devices and links of one node, numbered from 0: GPUs, NVSwitch, PCIe switches, hosts, NICs. Names have no
/// "nodeN.".
struct NodeWiring {
  std::vector<Device> devices;
  std::vector<Link> links;
  int gpus{}, pcie_switches{}, sockets{}, nics{};
  int nvswitch{-1};  ///< device, -1: none
  int first_pcie_switch{}, first_host{}, first_nic{};
  std::vector<int> gpu_socket;            ///< by local rank
  std::vector<int> nvlinks;               ///< gpus x gpus: direct NVLink connections
  std::vector<BytesPerSecond> nic_rates;  ///< by NIC; empty: the fabric's
};

/// One directed link GPU -> NVSwitch and one back per GPU with the rate of all its NVLinks; on a mesh one
/// directed link per pair and direction with links x rate. Links without a rate (no [pcie]) are left out.
/// With [graph] two directed links for every wire, those of GPUs that are not in use left out.
[[nodiscard]] NodeWiring wire_node(const NodeSpec& node, int gpus_used, const std::vector<NicPlace>& nics);

/// What faults leave of the cards' cables and of the GPUs' speed, shares by number.
struct NodeHealth {
  std::vector<double> nics, gpus;
};

/// Lowers link capacities and, in whole links, the NVLink connections; `at` without "nodeN.". The same fault
/// twice counts twice.
/// @throws std::invalid_argument: a name that the node does not have (with the ones that it has), two devices
/// without a link between them, a dead GPU
[[nodiscard]] NodeHealth damage(NodeWiring& wiring, const std::vector<LinkFault>& faults);

}  // namespace stepcast
