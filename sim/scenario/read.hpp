#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/scenario/scenario.hpp"

namespace stepcast {

/// Presets and models that points of a sweep share.
struct ReadCache {
  std::map<std::string, NodeSpec> nodes;
  std::map<std::string, FabricSpec> fabrics;
  std::map<std::string, Model> models;
};

/// What reading one document found. `faults`: a value is wrong by itself. `impossible`: values that are right
/// by themselves do not go together.
struct ReadResult {
  Scenario scenario;
  std::vector<Diagnostic> faults, impossible;
  const Model* model{};  ///< in the cache; nullptr when it could not be built
};

/// One document without [what_if] into a Scenario with every default filled in.
[[nodiscard]] ReadResult read_scenario(const Value& document, ReadCache& cache);

/// Only what collectives depend on: [cluster], [nccl] and [[background]]. Other sections may be there and are
/// not looked into.
[[nodiscard]] ReadResult read_cluster_only(const Value& document, ReadCache& cache);

}  // namespace stepcast
