#include "cli/topology_target.hpp"

#include <algorithm>
#include <iostream>
#include <limits>
#include <stdexcept>

#include "base/document.hpp"
#include "cli/scenario_options.hpp"
#include "sim/scenario/scenario.hpp"
#include "topology/preset_text.hpp"
#include "topology/written_network.hpp"

namespace stepcast {
namespace {

TopologyTarget scenario_target(const std::string& name, const ParsedOptions& options,
                               const std::string& command) {
  const std::vector<ScenarioPoint> points = expand(load_scenario(name, overrides_of(options, command), {}));
  const ScenarioPoint* point = nullptr;
  for (const ScenarioPoint& candidate : points)
    if (point == nullptr && candidate.scenario) point = &candidate;
  if (point == nullptr) {
    Diagnostic fault = points.front().fault.value_or(Diagnostic{});
    if (fault.message.empty()) fault.message = points.front().invalid;
    if (fault.place.file.empty()) fault.place.file = name;
    throw ScenarioError(std::move(fault));
  }
  if (points.size() > 1) {
    std::string settings;
    for (const auto& [key, value] : point->settings)
      settings += (settings.empty() ? "" : ", ") + key + " = " + value.to_text();
    std::cerr << "note: the scenario has " << points.size() << " points; this is " << settings
              << " (--set chooses another)\n";
  }
  const ClusterSection& section = point->scenario->cluster;
  TopologyTarget target;
  target.name = point->scenario->title.empty() ? name : point->scenario->title;
  target.cluster = std::make_unique<Cluster>(request_of(section));
  target.node = section.node_spec;
  if (section.fabric_spec.link_rate.value > 0) target.fabric = section.fabric_spec;
  return target;
}

/// All nodes that a written network has cards of; the nodes themselves are not known. Nothing for other
/// fabrics.
std::unique_ptr<Cluster> whole_network(const FabricSpec& fabric, const std::string& file) {
  if (!fabric.graph || fabric.graph->nodes < 1 || fabric.graph->nodes == std::numeric_limits<int>::max())
    return nullptr;
  ClusterRequest request;
  request.nodes = fabric.graph->nodes;
  request.node = load_node("cpu-host", {});
  request.gpus_per_node = 1;
  request.fabric = fabric;
  request.topology = "graph";
  try {
    return std::make_unique<Cluster>(request);
  } catch (const std::invalid_argument& fault) {
    throw ScenarioError(Diagnostic{
        {file, 0, 0, 1, ""}, fault.what(), "give nic.per_node, or a scenario that uses fewer nodes"});
  }
}

void refuse_settings(const ParsedOptions& options, const std::string& command, const std::string& what) {
  if (options.has("--set"))
    throw usage_error(command + ": --set is for scenarios, and this is a " + what,
                      "change the file, or write a scenario");
}

}  // namespace

TopologyTarget load_target(const std::string& name, const ParsedOptions& options,
                           const std::string& command) {
  std::string kind;
  if (is_path(name)) {
    const Value document = parse_toml(read_file(name), name);
    const bool scenario = document.find("model") != nullptr || document.find("cluster") != nullptr;
    if (scenario) return scenario_target(name, options, command);
    kind = document.find("transport") != nullptr ? "fabric" : "node";
  } else {
    const std::vector<std::string> nodes = node_preset_names(), fabrics = fabric_preset_names();
    const bool node = std::find(nodes.begin(), nodes.end(), name) != nodes.end();
    const bool fabric = std::find(fabrics.begin(), fabrics.end(), name) != fabrics.end();
    if (!node && !fabric) {
      std::vector<std::string> known = nodes;
      known.insert(known.end(), fabrics.begin(), fabrics.end());
      const std::string near = nearest_name(name, known);
      throw usage_error(
          command + ": there is no node or fabric \"" + name + "\"",
          near.empty()
              ? "a name with a '/' or ending in .toml is a file; stepcast run --help lists the presets"
              : "did you mean \"" + near + "\"?");
    }
    kind = node ? "node" : "fabric";
  }
  refuse_settings(options, command, kind);
  TopologyTarget target;
  target.name = name;
  if (kind == "node") target.node = load_node(name, {});
  if (kind == "fabric") {
    target.fabric = load_fabric(name, {});
    target.cluster = whole_network(*target.fabric, name);
  }
  return target;
}

}  // namespace stepcast
