#pragma once

#include <optional>
#include <string>
#include <vector>

#include "topology/fabric.hpp"
#include "topology/node.hpp"

namespace stepcast {

struct NcclXml {
  std::string xml;
  std::vector<std::string> notes;  ///< what the format cannot say
};

/// A node as NCCL's topology XML, for NCCL_TOPO_FILE. Bus ids are made up, in order; what NCCL can ask the
/// machine itself (affinity, CPU model) is left out.
/// @param compute_capability  of the GPU, 90 on H100
/// @param fabric              line rate of cards that have none of their own, and InfiniBand or not; may be
/// null
[[nodiscard]] NcclXml nccl_xml(const NodeSpec& node, int compute_capability, const FabricSpec* fabric);

}  // namespace stepcast
