#include <algorithm>

#include "base/print.hpp"
#include "topology/node_toml.hpp"
#include "topology/picture/network_levels.hpp"
#include "topology/picture/picture.hpp"

namespace stepcast {
namespace {

std::string bits(BytesPerSecond rate) { return exact_rate(rate, true); }

std::string rates(const NetworkLevels::Cables& cables) {
  return cables.least == cables.most ? bits(cables.most) + " each"
                                     : bits(cables.least) + " to " + bits(cables.most);
}

std::string names(const Cluster& cluster, const std::vector<int>& of) {
  const auto name = [&](int device) { return cluster.devices()[static_cast<std::size_t>(device)].name; };
  std::string text;
  if (of.size() > 8) return name(of.front()) + " .. " + name(of.back());
  for (const int device : of) text += (text.empty() ? "" : ", ") + name(device);
  return text;
}

}  // namespace

std::string network_text(const Cluster& cluster) {
  const ClusterRequest& request = cluster.request();
  const NetworkLevels levels(cluster);
  std::string text = "network " + request.fabric.name + ", " + request.topology + ", routing " +
                     request.routing + ": " + std::to_string(cluster.node_count()) +
                     (cluster.node_count() == 1 ? " node, " : " nodes, ") +
                     std::to_string(levels.cards.count) + (levels.cards.count == 1 ? " card" : " cards");
  if (levels.cards.count == 0) return text + "\n";
  text += " of " + rates(levels.cards) + ", " + bits(levels.cards.sum) + " in all\n";
  for (std::size_t i = 0; i < levels.switches.size(); ++i) {
    const std::vector<int>& here = levels.switches[i];
    text += "  level " + std::to_string(i + 1) + ": " + std::to_string(here.size()) +
            (here.size() == 1 ? " switch, " : " switches, ") + names(cluster, here) + "\n";
    if (levels.up[i].count == 0) continue;
    text += "    " + std::to_string(levels.up[i].count) +
            (levels.up[i].count == 1 ? " link up, " : " links up, ") + rates(levels.up[i]) + ", " +
            bits(levels.up[i].sum) + " in all\n";
    double worst = 0;
    for (const int device : here) {
      const auto at = static_cast<std::size_t>(device);
      if (levels.up_of[at].value > 0) worst = std::max(worst, levels.down_of[at] / levels.up_of[at]);
    }
    char share[32];
    std::snprintf(share, sizeof share, "%.3g", worst);
    text += "    oversubscription " + std::string(share) + " : 1 where it is greatest\n";
  }
  if (levels.left_out > 0)
    text += "  " + std::to_string(levels.left_out) + " further switches lead to none of these nodes\n";
  if (levels.within.count > 0)
    text += "  between switches of one level: " + std::to_string(levels.within.count) + " links, " +
            rates(levels.within) + "\n";
  return text;
}

}  // namespace stepcast
