#include <algorithm>
#include <map>

#include "topology/network_plan.hpp"

namespace stepcast {

NetworkPlan lay_dragonfly(const ClusterRequest& request, const std::vector<FabricPort>& ports) {
  LeafPlaces places = place_leaves(request, ports);
  NetworkPlan plan;
  for (int leaf = 0; leaf < places.leaves; ++leaf)
    plan.add_switch(DeviceKind::leaf_switch, "leaf" + std::to_string(leaf));
  plan.switch_of = std::move(places.leaf_of);
  const int group_size = request.dragonfly_group > 0 ? request.dragonfly_group : places.most_down;
  const int groups = (places.leaves + group_size - 1) / group_size;
  if (places.leaves < 2) return plan;

  const Uplinks up = uplinks_of(places.fullest, request.oversubscription, request.fabric.link_rate);
  std::vector<int> first_spine;
  for (int group = 0; group < groups; ++group) {
    const std::string prefix = "group" + std::to_string(group) + ".";
    const int bundle = plan.add_bundle(prefix + "spines");
    first_spine.push_back(static_cast<int>(plan.switches.size()));
    for (int spine = 0; spine < up.count; ++spine)
      plan.add_switch(DeviceKind::spine_switch, prefix + "spine" + std::to_string(spine), bundle);
  }
  for (int leaf = 0; leaf < places.leaves; ++leaf)
    for (int spine = 0; spine < up.count; ++spine)
      plan.cables.push_back(
          {leaf, first_spine[static_cast<std::size_t>(leaf / group_size)] + spine, up.each});
  if (groups < 2) return plan;

  // By default a full group has as many links to other groups as its leaves have uplinks.
  const int links = request.dragonfly_links > 0 ? request.dragonfly_links
                                                : std::max(1, group_size * up.count / (groups - 1));
  // Dealt out to the spines in turn, at one end moved on by one after each round, so that all pairs of spines
  // get their turn.
  std::vector<int> dealt(static_cast<std::size_t>(groups), 0);
  for (int a = 0; a < groups; ++a) {
    for (int b = a + 1; b < groups; ++b) {
      std::map<std::pair<int, int>, int> cables;
      for (int link = 0; link < links; ++link) {
        const int out = dealt[static_cast<std::size_t>(a)]++;
        const int in = dealt[static_cast<std::size_t>(b)]++;
        ++cables[{first_spine[static_cast<std::size_t>(a)] + out % up.count,
                  first_spine[static_cast<std::size_t>(b)] + (in + in / up.count) % up.count}];
      }
      for (const auto& [ends, count] : cables)
        plan.cables.push_back({ends.first, ends.second, count * request.fabric.link_rate});
    }
  }
  return plan;
}

}  // namespace stepcast
