#include <algorithm>
#include <set>

#include "topology/node_toml.hpp"
#include "topology/picture/dot.hpp"
#include "topology/picture/network_levels.hpp"
#include "topology/picture/picture.hpp"

namespace stepcast {
namespace {

std::string bits(BytesPerSecond rate) { return exact_rate(rate, true); }

class NetworkDot {
 public:
  explicit NetworkDot(const Cluster& cluster) : cluster_(cluster), levels_(cluster) {}

  std::string write() {
    const ClusterRequest& request = cluster_.request();
    text_ = dot_head(std::to_string(cluster_.node_count()) + " nodes, " + request.fabric.name + ", " +
                     request.topology);
    text_ += "  rankdir=BT; ranksep=1.0; nodesep=0.3;\n";
    constexpr int most_nodes = 40;
    constexpr std::size_t most_switches = 40;
    constexpr int most_cables = 128;
    std::size_t switches = 0;
    for (const auto& level : levels_.switches) switches += level.size();
    int cables = levels_.within.count;
    for (const NetworkLevels::Cables& up : levels_.up) cables += up.count;
    if (cluster_.node_count() <= most_nodes && switches <= most_switches && cables <= most_cables) {
      draw_all();
    } else {
      draw_levels();
    }
    std::vector<DotColour> colours{dot_colour("nic")};
    colours.back().words += ", " + range_of(levels_.cards);
    NetworkLevels::Cables between = levels_.within;
    for (const NetworkLevels::Cables& up : levels_.up) {
      if (up.count == 0) continue;
      between.least = between.count == 0 ? up.least : std::min(between.least, up.least);
      between.most = std::max(between.most, up.most);
      between.count += up.count;
    }
    if (between.count > 0) {
      colours.push_back(dot_colour("fabric"));
      colours.back().words += ", " + range_of(between);
    }
    text_ += dot_legend(colours);
    return text_ + "}\n";
  }

 private:
  [[nodiscard]] const Device& device(int index) const {
    return cluster_.devices()[static_cast<std::size_t>(index)];
  }

  static std::string cards(int count) { return std::to_string(count) + (count == 1 ? " card" : " cards"); }
  [[nodiscard]] int level(int index) const { return levels_.level_of[static_cast<std::size_t>(index)]; }
  [[nodiscard]] bool shown(int index) const { return level(index) >= 0; }

  /// Of the nodes; nothing where only the network is known (their place is taken by hosts without GPU).
  [[nodiscard]] std::string gpus(int count) const {
    return cluster_.node_spec(0).host_device ? "" : "\\n" + std::to_string(count) + " GPUs";
  }

  static std::string range_of(const NetworkLevels::Cables& cables) {
    return cables.least == cables.most ? bits(cables.most) : bits(cables.least) + " to " + bits(cables.most);
  }

  void draw_all() {
    std::set<std::pair<std::string, int>> drawn;  // node and switch
    std::string row;                              // keeps the nodes in order
    for (int node = 0; node < cluster_.node_count(); ++node) {
      const std::string name = "node" + std::to_string(node);
      text_ += "  " + name + " [label=" +
               dot_text(name + gpus(cluster_.gpus_per_node()) + "\\n" + cards(cluster_.nics_of_node(node))) +
               ", fillcolor=\"#c9e7b8\"];\n";
      row += (row.empty() ? "" : " -- ") + name;
    }
    text_ += "  { rank=same; edge [style=invis]; " + row + "; }\n";
    for (const auto& level : levels_.switches) {
      text_ += "  { rank=same;";
      for (const int index : level) text_ += " " + dot_text(device(index).name) + " [fillcolor=\"#e7d3ee\"];";
      text_ += " }\n";
    }
    for (const Link& link : cluster_.links()) {
      const std::string to = dot_text(device(link.to).name);
      if (link.kind == LinkKind::nic && device(link.from).kind == DeviceKind::nic) {
        const std::string node = "node" + std::to_string(device(link.from).node);
        if (drawn.insert({node, link.to}).second)
          text_ += "  " + node + " -- " + to + " [" + dot_line("nic") + "];\n";
      } else if (link.kind == LinkKind::fabric && link.from < link.to && shown(link.from) && shown(link.to)) {
        // The lower end first: dot ranks from there.
        const bool upward = level(link.from) <= level(link.to);
        const std::string below = dot_text(device(upward ? link.from : link.to).name);
        const std::string above = dot_text(device(upward ? link.to : link.from).name);
        text_ += "  " + below + " -- " + above + " [" + dot_line("fabric") + "];\n";
      }
    }
  }

  void draw_levels() {
    text_ += "  nodes [label=" +
             dot_text(std::to_string(cluster_.node_count()) + " nodes" + gpus(cluster_.gpu_count()) + "\\n" +
                      cards(levels_.cards.count)) +
             ", fillcolor=\"#c9e7b8\", width=5];\n";
    std::string below = "nodes";
    const NetworkLevels::Cables* cables = &levels_.cards;
    for (std::size_t i = 0; i < levels_.switches.size(); ++i) {
      const std::vector<int>& level = levels_.switches[i];
      const std::string name = "level" + std::to_string(i);
      text_ += "  " + name + " [label=" +
               dot_text(std::to_string(level.size()) + (level.size() == 1 ? " switch\\n" : " switches\\n") +
                        device(level.front()).name +
                        (level.size() > 1 ? " .. " + device(level.back()).name : "")) +
               ", fillcolor=\"#e7d3ee\", width=5];\n";
      text_ += "  " + below + " -- " + name + " [" + dot_line(i == 0 ? "nic" : "fabric") + ", label=" +
               dot_text("  " + std::to_string(cables->count) + " links, " + bits(cables->sum) + " in all") +
               "];\n";
      below = name;
      cables = &levels_.up[i];
    }
  }

  const Cluster& cluster_;
  NetworkLevels levels_;
  std::string text_;
};

}  // namespace

std::string network_dot(const Cluster& cluster) { return NetworkDot(cluster).write(); }

}  // namespace stepcast
