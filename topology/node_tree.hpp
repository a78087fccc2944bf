#pragma once

#include <map>
#include <string>
#include <vector>

#include "topology/node.hpp"

namespace stepcast {

/// What hangs beneath each host and PCIe switch of a node.
struct NodeTree {
  struct Child {
    WireEnd device;
    BytesPerSecond rate;  ///< of the wire up
  };
  std::map<WireEnd, std::vector<Child>>
      children;  ///< GPUs, cards and switches in order of their kind and number
  std::map<WireEnd, WireEnd> parent;
  std::vector<NodeWire> nvlinks, between_sockets;
  int hosts{}, cards{};

  explicit NodeTree(const NodeSpec& node);
  [[nodiscard]] std::vector<WireEnd> way_up(WireEnd device) const;  ///< itself first, its host last
  /// The entry of nvidia-smi topo -m: "NV18", "PIX", "PXB", "PHB", "SYS", "X".
  [[nodiscard]] std::string relation(WireEnd a, WireEnd b) const;
};

}  // namespace stepcast
