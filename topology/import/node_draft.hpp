#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic.hpp"
#include "base/units.hpp"
#include "topology/node_wire.hpp"

namespace stepcast {

/// A figure and where it comes from.
template <class T>
struct Sourced {
  T value{};
  std::string source;
};

/// A wire as an import sees it: what it can't know of the rate is filled in later.
struct DraftWire {
  WireEnd first, second;
  std::optional<BytesPerSecond>
      rate;  ///< unknown: nvlink.rate_per_link x links, pcie.rate or host.socket_rate
  int links{1};
  std::string source;  ///< "nvidia-smi topo -m: NV18"
};

/// What an import of one machine found.
struct NodeDraft {
  std::string format;  ///< "nvidia-smi topo -m"
  SourcePlace file;    ///< the whole file
  int gpus{};
  std::optional<Sourced<std::string>> gpu;  ///< profile
  std::string gpu_hint;                     ///< what is known of the GPU without naming a profile
  std::vector<DraftWire> wires;
  struct Nic {
    std::string name;                    ///< "mlx5_0"; may be empty
    std::optional<BytesPerSecond> rate;  ///< line rate
    bool slot_by_rate{};  ///< the file has no PCIe device for it: its wire is as fast as its line rate
  };
  std::vector<Nic> nics;
  std::string nic_rate_source;
  std::vector<std::string> hosts;  ///< what each host is: "NUMA node 3"
  std::optional<Sourced<bool>> gpudirect;
  std::optional<Sourced<std::string>> cpu;  ///< intel, amd, arm, power
  bool nvlink_unknown{};                    ///< the format or this file says nothing of NVLink
  /// All GPU pairs have this number of NVLinks: a switch or a mesh, as links per GPU tell; the wires are left
  /// to the completion. 0: does not apply.
  int equal_nvlinks{};
  std::vector<std::string> notes;
};

}  // namespace stepcast
