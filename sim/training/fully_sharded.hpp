#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sim/training/schedule.hpp"

namespace stepcast {

/// What fully_shard wraps as one group: each block for itself, everything else together in the root unit.
struct ShardUnit {
  std::vector<int> layers;
  bool root{};
  double elements{};  ///< of the gathered tensors, padded: every parameter's first dimension is cut into
                      ///< equal parts (I25)
  int tensors{};
};

/// @param shards  ranks that a unit is cut over
/// The root unit comes first (it may hold no parameters), then the blocks in forward order.
[[nodiscard]] std::vector<ShardUnit> shard_units(const Model& model, int shards);

/// By layer, the unit that holds it.
[[nodiscard]] std::vector<std::size_t> units_of_layers(const std::vector<ShardUnit>& units,
                                                       const Model& model);
/// "root", or the block's name.
[[nodiscard]] std::string unit_name(const ShardUnit& unit, const Model& model);

/// Ranks that cut a unit among them: neighbours.
[[nodiscard]] std::vector<Group> shard_groups(int world, int shards);
/// Ranks that hold the same shard.
[[nodiscard]] std::vector<Group> replicate_groups(int world, int shards);

}  // namespace stepcast
