#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cli/options.hpp"
#include "topology/cluster.hpp"

namespace stepcast {

/// What `topology show` and `topology export` look at: a node, the network of a fabric, or a scenario's
/// cluster.
struct TopologyTarget {
  std::string name;
  std::optional<NodeSpec> node;      ///< of a scenario the first one's
  std::optional<FabricSpec> fabric;  ///< of a scenario or fabric
  std::unique_ptr<Cluster> cluster;  ///< of a scenario, or of a fabric that writes its network out
};

/// A preset (node, else fabric) or a file: a scenario has [model] or [cluster], a fabric `transport`, a node
/// is what is left. Of a scenario with several points the first is taken, with a note on stderr.
/// @throws ScenarioError: no such file or preset (with a suggestion), the file's own faults
[[nodiscard]] TopologyTarget load_target(const std::string& name, const ParsedOptions& options,
                                         const std::string& command);

}  // namespace stepcast
