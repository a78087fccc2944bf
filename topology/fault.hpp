#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace stepcast {

/// Damage: what is left of a link, a card, a switch or a GPU.
///
/// `at` names a device ("node3.nic2", "spine1", "node0.gpu4") or the link between two of them
/// ("node3.gpu1 - node3.nvswitch0", "leaf0 - spine1"), both directions. A device stands for all of its links;
/// a NIC for its cable; a GPU for its computing speed.
struct LinkFault {
  std::string at;
  double remaining{};  ///< share of the rate (of a GPU: of its speed) that is left; 0: dead
};

/// The two ends that `at` names, blanks taken off; `second` is empty for a device.
struct FaultEnds {
  std::string first, second;
};
[[nodiscard]] FaultEnds ends_of(std::string_view at);

/// "node3.nic2" -> 3 and "nic2"; nothing when the name does not start with a node.
struct NodePart {
  int node{};
  std::string part;
};
[[nodiscard]] std::optional<NodePart> node_part_of(const std::string& device);

}  // namespace stepcast
