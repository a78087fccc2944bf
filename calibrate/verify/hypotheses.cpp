#include "calibrate/verify/hypotheses.hpp"

#include <algorithm>
#include <cmath>

#include "topology/fabric.hpp"

namespace stepcast {
namespace {

bool rdma(const ClusterSection& cluster) {
  return cluster.nodes > 1 && cluster.fabric_spec.transport != Transport::ethernet;
}

int nics_per_node(const ClusterSection& cluster) {
  return cluster.fabric_spec.nics_per_node > 0 ? cluster.fabric_spec.nics_per_node
                                               : cluster.node_spec.nics_default;
}

Scenario with_tcp(Scenario scenario) {
  ClusterSection& cluster = scenario.cluster;
  constexpr double gigabit = 1e9 / 8;
  const double rate = std::round(cluster.fabric_spec.link_rate.value / gigabit);
  cluster.fabric = "ethernet-" + std::to_string(static_cast<int>(std::max(1.0, rate))) + "g";
  cluster.fabric_spec = load_fabric(cluster.fabric, cluster.node_place);
  return scenario;
}

Scenario without_gpudirect(Scenario scenario) {
  scenario.cluster.fabric_spec.gpudirect = false;
  return scenario;
}

Scenario with_one_nic(Scenario scenario) {
  scenario.cluster.nics_per_node = 1;
  scenario.cluster.fabric_spec.nics_per_node = 1;
  return scenario;
}

Scenario with_far_nics(Scenario scenario) {
  NodeSpec& node = scenario.cluster.node_spec;
  for (int& gpu : node.nic_gpu) gpu = (gpu + node.gpus / 2) % node.gpus;
  return scenario;
}

Scenario without_nvlink(Scenario scenario) {
  NodeSpec& node = scenario.cluster.node_spec;
  node.nvlink = NodeSpec::Nvlink::none;
  node.nvlink_links_per_gpu = 0;
  node.nvlink_sharp = false;
  node.nvlink_mesh.clear();
  return scenario;
}

Scenario with_half_pcie(Scenario scenario) {
  NodeSpec& node = scenario.cluster.node_spec;
  node.pcie_rate = 0.5 * node.pcie_rate;
  for (NodeWire& wire : node.wires)
    if (!wire.is_nvlink() && !wire.is_between_sockets()) wire.rate = 0.5 * wire.rate;
  return scenario;
}

}  // namespace

std::string_view name_of(Cause cause) {
  switch (cause) {
    case Cause::tcp_sockets:
      return "tcp_sockets";
    case Cause::no_gpudirect:
      return "no_gpudirect";
    case Cause::one_nic:
      return "one_nic";
    case Cause::wrong_numa_node:
      return "wrong_numa_node";
    case Cause::no_nvlink:
      return "no_nvlink";
    case Cause::slow_pcie:
      return "slow_pcie";
  }
  return "";
}

std::string_view meaning_of(Cause cause) {
  switch (cause) {
    case Cause::tcp_sockets:
      return "TCP sockets instead of RDMA";
    case Cause::no_gpudirect:
      return "GPUDirect RDMA is off: messages pass through host memory";
    case Cause::one_nic:
      return "one network card of each node is in use";
    case Cause::wrong_numa_node:
      return "GPUs use network cards of another NUMA node";
    case Cause::no_nvlink:
      return "NVLink is down, slow or not used between GPUs of a node";
    case Cause::slow_pcie:
      return "PCIe links run below their width or speed";
  }
  return "";
}

std::string_view advice_for(Cause cause) {
  switch (cause) {
    case Cause::tcp_sockets:
      return "ibstat and ibv_devinfo show whether the cards are up; NCCL_IB_DISABLE must not be 1; "
             "containers "
             "need /dev/infiniband";
    case Cause::no_gpudirect:
      return "lsmod | grep nvidia_peermem (or dma-buf with an open kernel module); NCCL_NET_GDR_LEVEL; ACS "
             "and "
             "IOMMU off";
    case Cause::one_nic:
      return "NCCL_IB_HCA and NCCL_SOCKET_IFNAME must not name one card; ibdev2netdev shows which are up";
    case Cause::wrong_numa_node:
      return "nvidia-smi topo -m: each GPU's card should be PIX or PXB; in virtual machines give NCCL the "
             "provider's NCCL_TOPO_FILE";
    case Cause::no_nvlink:
      return "nvidia-smi nvlink -s and nvidia-smi topo -m; nvidia-fabricmanager must run; NCCL_P2P_DISABLE "
             "must "
             "not be 1";
    case Cause::slow_pcie:
      return "lspci -vv: LnkSta against LnkCap of GPUs and cards; nvidia-smi -q -d PCIE";
  }
  return "";
}

std::vector<Hypothesis> hypotheses_of(const Scenario& scenario) {
  const ClusterSection& cluster = scenario.cluster;
  const NodeSpec& node = cluster.node_spec;
  std::vector<Hypothesis> found;
  if (node.host_device) return found;
  if (rdma(cluster)) found.push_back({Cause::tcp_sockets, with_tcp(scenario)});
  if (rdma(cluster) && cluster.fabric_spec.gpudirect && node.gpudirect)
    found.push_back({Cause::no_gpudirect, without_gpudirect(scenario)});
  if (cluster.nodes > 1 && nics_per_node(cluster) > 1)
    found.push_back({Cause::one_nic, with_one_nic(scenario)});
  // Wires that are written out don't say which card could hang elsewhere, and which NVLinks could be missing.
  const bool regular = node.wires.empty();
  if (cluster.nodes > 1 && regular && node.sockets > 1 && !node.nic_gpu.empty())
    found.push_back({Cause::wrong_numa_node, with_far_nics(scenario)});
  if (cluster.gpus_per_node > 1 && regular && node.nvlink != NodeSpec::Nvlink::none &&
      node.pcie_rate.value > 0)
    found.push_back({Cause::no_nvlink, without_nvlink(scenario)});
  if (node.pcie_rate.value > 0) found.push_back({Cause::slow_pcie, with_half_pcie(scenario)});
  return found;
}

}  // namespace stepcast
