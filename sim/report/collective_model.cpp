#include "sim/report/collective_model.hpp"

#include <numeric>
#include <stdexcept>

namespace stepcast {
namespace {

/// Of the software profile collectives take nothing; one has to be named.
constexpr const char* any_software = "pytorch-compiled";

Profile profile_of(const Scenario& scenario, const NodeSpec& node) {
  return load_profile(node.gpu, node.name, any_software, scenario.cluster.profiles,
                      scenario.cluster.node_place);
}

}  // namespace

Profile collective_profile(const Scenario& scenario) {
  return profile_of(scenario, scenario.cluster.node_spec);
}

std::unique_ptr<CollectiveModel> collective_model(const Scenario& scenario, const Profile& profile) {
  try {
    ClusterRequest request = request_of(scenario.cluster);
    request.pxn = scenario.nccl.pxn;
    auto cluster = std::make_shared<const Cluster>(request);
    CollectiveOptions options;
    options.nccl = scenario.nccl;
    if (cluster->node_classes() > 1) {
      options.links_of_class.resize(static_cast<std::size_t>(cluster->node_classes()));
      for (int node = 0; node < cluster->node_count(); ++node) {
        options.links_of_class[static_cast<std::size_t>(cluster->node_class(node))] =
            profile_of(scenario, cluster->node_spec(node)).links;
      }
    }
    return std::make_unique<CollectiveModel>(std::move(cluster), profile, options);
  } catch (const std::invalid_argument& error) {
    throw ScenarioError(Diagnostic{scenario.cluster.node_place, error.what(), ""});
  }
}

Group every_rank(const Cluster& cluster) {
  Group group{std::vector<int>(static_cast<std::size_t>(cluster.gpu_count()))};
  std::iota(group.ranks.begin(), group.ranks.end(), 0);
  return group;
}

}  // namespace stepcast
