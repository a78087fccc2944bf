#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/scenario.hpp"

namespace stepcast {

/// What commonly makes a cluster slower than its hardware.
enum class Cause { tcp_sockets, no_gpudirect, one_nic, wrong_numa_node, no_nvlink, slow_pcie };

/// "tcp_sockets", for JSON.
[[nodiscard]] std::string_view name_of(Cause cause);
/// "TCP sockets instead of RDMA".
[[nodiscard]] std::string_view meaning_of(Cause cause);
/// What to look at.
[[nodiscard]] std::string_view advice_for(Cause cause);

/// The scenario with one thing broken.
struct Hypothesis {
  Cause cause{};
  Scenario scenario;
};

/// Every cause that the scenario's hardware can have: one NIC needs several, NVLink has to be there to be
/// missing.
/// - tcp_sockets: the fabric is ethernet of the same rate (with the cards of that preset, NCCL's default
///   sockets)
/// - no_gpudirect: messages pass through host memory
/// - one_nic: one network card of each node
/// - wrong_numa_node: each card hangs beside a GPU half a node away, so on the other socket
/// - no_nvlink: GPUs of a node meet over PCIe
/// - slow_pcie: PCIe links at half their rate (x8 instead of x16, or a generation below)
[[nodiscard]] std::vector<Hypothesis> hypotheses_of(const Scenario& scenario);

}  // namespace stepcast
