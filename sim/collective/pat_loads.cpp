#include <algorithm>

#include "sim/collective/link_load_sum.hpp"

namespace stepcast {

void LinkLoads::pat(Sum& sum, Operation operation, const GroupShape& group) const {
  const int ranks = group.ranks;
  for (int distance = 1; distance < ranks; distance *= 2) {
    const double weight = static_cast<double>(std::min(distance, ranks - distance)) / ranks;
    for (int rank = 0; rank < ranks; ++rank) {
      const NodeMembers& here = group.nodes[static_cast<std::size_t>(rank)];
      const NodeMembers& there = group.nodes[static_cast<std::size_t>((rank + distance) % ranks)];
      if (operation == Operation::all_gather)
        sum.add_message(here.node, here.locals.front(), there.node, there.locals.front(), weight);
      else
        sum.add_message(there.node, there.locals.front(), here.node, here.locals.front(), weight);
    }
  }
}

}  // namespace stepcast
