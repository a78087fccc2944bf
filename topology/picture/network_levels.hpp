#pragma once

#include <string>
#include <vector>

#include "topology/cluster.hpp"

namespace stepcast {

/// Switches of the network by how many of them lie between them and the nearest card, and the cables. A
/// switch without cards that leads nowhere else (of a written network of which fewer nodes are used) is left
/// out.
struct NetworkLevels {
  struct Cables {
    int count{};
    BytesPerSecond least, most, sum;
  };
  std::vector<std::vector<int>> switches;  ///< devices, by level from 0 (cards hang there)
  int left_out{};
  std::vector<int> level_of;                   ///< by device; -1: no switch
  Cables cards;                                ///< from cards to level 0
  std::vector<Cables> up;                      ///< from level i to i + 1
  Cables within;                               ///< between switches of one level
  std::vector<BytesPerSecond> up_of, down_of;  ///< by device: to the next level, and from below

  explicit NetworkLevels(const Cluster& cluster);
};

}  // namespace stepcast
