#include <algorithm>

#include "topology/network_plan.hpp"

namespace stepcast {
namespace {

void lay_two_levels(NetworkPlan& plan, int leaves, const Uplinks& up) {
  const int bundle = plan.add_bundle("spines");
  const int first = static_cast<int>(plan.switches.size());
  for (int spine = 0; spine < up.count; ++spine)
    plan.add_switch(DeviceKind::spine_switch, "spine" + std::to_string(spine), bundle);
  for (int leaf = 0; leaf < leaves; ++leaf)
    for (int spine = 0; spine < up.count; ++spine) plan.cables.push_back({leaf, first + spine, up.each});
}

/// Spine j of every pod leads to the cores j x q ... j x q + q - 1, q being a spine's uplinks.
void lay_three_levels(NetworkPlan& plan, int leaves, int leaves_per_pod, const Uplinks& up,
                      double core_oversubscription) {
  const int pods = (leaves + leaves_per_pod - 1) / leaves_per_pod;
  std::vector<int> first_spine;
  for (int pod = 0; pod < pods; ++pod) {
    const std::string prefix = "pod" + std::to_string(pod) + ".";
    const int bundle = plan.add_bundle(prefix + "spines");
    first_spine.push_back(static_cast<int>(plan.switches.size()));
    for (int spine = 0; spine < up.count; ++spine)
      plan.add_switch(DeviceKind::spine_switch, prefix + "spine" + std::to_string(spine), bundle);
  }
  const Uplinks core = uplinks_of(leaves_per_pod, core_oversubscription, up.each);
  const int bundle = plan.add_bundle("cores");
  const int first_core = static_cast<int>(plan.switches.size());
  for (int c = 0; c < up.count * core.count; ++c)
    plan.add_switch(DeviceKind::spine_switch, "core" + std::to_string(c), bundle);
  for (int leaf = 0; leaf < leaves; ++leaf)
    for (int spine = 0; spine < up.count; ++spine)
      plan.cables.push_back(
          {leaf, first_spine[static_cast<std::size_t>(leaf / leaves_per_pod)] + spine, up.each});
  for (const int spines : first_spine)
    for (int spine = 0; spine < up.count; ++spine)
      for (int c = 0; c < core.count; ++c)
        plan.cables.push_back({spines + spine, first_core + spine * core.count + c, core.each});
}

}  // namespace

NetworkPlan lay_tree(const ClusterRequest& request, const std::vector<FabricPort>& ports) {
  LeafPlaces places = place_leaves(request, ports);
  NetworkPlan plan;
  for (int leaf = 0; leaf < places.leaves; ++leaf)
    plan.add_switch(DeviceKind::leaf_switch, "leaf" + std::to_string(leaf));
  plan.switch_of = std::move(places.leaf_of);
  if (places.leaves < 2 || request.topology == "rail-only") return plan;
  const Uplinks up = uplinks_of(places.fullest, request.oversubscription, request.fabric.link_rate);
  // A pod has whole nodes, or whole groups of rails.
  const int leaves_per_pod = std::max(1, places.most_down / places.unit) * places.unit;
  if (request.topology == "leaf-spine" || places.leaves <= leaves_per_pod)
    lay_two_levels(plan, places.leaves, up);
  else
    lay_three_levels(plan, places.leaves, leaves_per_pod, up, request.core_oversubscription);
  return plan;
}

}  // namespace stepcast
