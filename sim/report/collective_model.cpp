#include "sim/report/collective_model.hpp"

#include <algorithm>
#include <map>
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

std::shared_ptr<const Cluster> build_cluster(const Scenario& scenario) {
  ClusterRequest request = request_of(scenario.cluster);
  request.pxn = scenario.nccl.pxn;
  try {
    return std::make_shared<const Cluster>(request);
  } catch (const std::invalid_argument& error) {
    throw ScenarioError(Diagnostic{scenario.cluster.node_place, error.what(), ""});
  }
}

std::unique_ptr<CollectiveModel> collective_model(
    const Scenario& scenario, std::shared_ptr<const Cluster> cluster,
    const std::function<const Profile&(const NodeSpec&)>& profile_of) {
  CollectiveOptions options;
  options.nccl = scenario.nccl;
  Profile profile = profile_of(scenario.cluster.node_spec);
  options.links_of_class.resize(static_cast<std::size_t>(cluster->node_classes()));
  std::vector<bool> seen(options.links_of_class.size(), false);
  for (int node = 0; node < cluster->node_count(); ++node) {
    const auto kind = static_cast<std::size_t>(cluster->node_class(node));
    if (seen[kind]) continue;
    seen[kind] = true;
    const Profile& own = profile_of(cluster->node_spec(node));
    options.links_of_class[kind] = own.links;
    double& oldest = profile.gpu.compute_capability.value;
    oldest = std::min(oldest, own.gpu.compute_capability.value);
  }
  return std::make_unique<CollectiveModel>(std::move(cluster), profile, options);
}

std::unique_ptr<CollectiveModel> collective_model(const Scenario& scenario, const Profile& profile) {
  std::map<std::string, Profile> others;
  return collective_model(scenario, build_cluster(scenario), [&](const NodeSpec& node) -> const Profile& {
    if (node.name == scenario.cluster.node_spec.name) return profile;
    const auto known = others.find(node.name);
    return known != others.end() ? known->second
                                 : others.emplace(node.name, profile_of(scenario, node)).first->second;
  });
}

Group every_rank(const Cluster& cluster) {
  Group group{std::vector<int>(static_cast<std::size_t>(cluster.gpu_count()))};
  std::iota(group.ranks.begin(), group.ranks.end(), 0);
  return group;
}

}  // namespace stepcast
