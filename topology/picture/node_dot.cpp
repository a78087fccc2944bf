#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "base/print.hpp"
#include "topology/node_toml.hpp"
#include "topology/node_tree.hpp"
#include "topology/picture/dot.hpp"
#include "topology/picture/picture.hpp"

namespace stepcast {
namespace {

using Kind = WireEnd::Kind;

class NodeDot {
 public:
  explicit NodeDot(const NodeSpec& node) : node_(node), tree_(node) {}

  std::string write() {
    text_ = dot_head(node_.name + ": " + std::to_string(node_.gpus) + " x " + node_.gpu);
    text_ += "  rankdir=TB; ranksep=0.8; nodesep=0.25;\n";
    choose_hosts();
    for (const auto& [host, alike] : drawn_) draw_host(host, alike);
    for (const NodeWire& wire : tree_.between_sockets) {
      if (drawn_.count(wire.first) > 0 && drawn_.count(wire.second) > 0)
        edge(wire.first, wire.second, dot_line("host"), "constraint=false");
    }
    draw_nvlinks();
    std::vector<std::string> kinds{"pcie"};
    if (node_.nvlink == NodeSpec::Nvlink::fabric_switch) kinds.insert(kinds.begin(), "nvlink");
    if (!tree_.between_sockets.empty()) kinds.push_back("host");
    for (const std::string& kind : kinds) {
      legend_.push_back(dot_colour(kind));
      if (kind == "pcie") legend_.back().words += "; boxes state the rate of their link up";
      if (kind == "host") legend_.back().words += ", " + range_of(tree_.between_sockets);
    }
    text_ += dot_legend(legend_) + "}\n";
    return text_;
  }

 private:
  static std::string range_of(const std::vector<NodeWire>& wires) {
    const auto [least, most] = std::minmax_element(
        wires.begin(), wires.end(), [](const NodeWire& a, const NodeWire& b) { return a.rate < b.rate; });
    const std::string high = print_rate(most->rate);
    return least->rate == most->rate ? high : print_rate(least->rate) + " to " + high;
  }

  /// How a host looks, whatever the numbers.
  std::string shape(WireEnd end) const {
    std::string text(word_of(end.kind));
    const auto found = tree_.children.find(end);
    if (found == tree_.children.end()) return text;
    text += "(";
    for (const NodeTree::Child& child : found->second)
      text += shape(child.device) + exact_rate(child.rate) + ",";
    return text + ")";
  }

  void choose_hosts() {
    constexpr int most_gpus = 16;
    std::map<std::string, WireEnd> first_of;
    for (int host = 0; host < tree_.hosts; ++host) {
      const WireEnd end{Kind::host, host};
      const auto [first, fresh] = first_of.try_emplace(shape(end), end);
      if (fresh || node_.gpus <= most_gpus) {
        drawn_[end] = 1;
      } else {
        ++drawn_[first->second];
      }
    }
  }

  void draw_host(WireEnd host, int alike) {
    text_ += "  subgraph cluster_" + host.name() +
             " {\n    style=rounded; color=\"#b0b0b0\"; fontcolor=\"#555555\";\n";
    text_ += "    label=\"\";\n";
    if (alike > 1) text_ += "    label=\"one of " + std::to_string(alike) + " hosts that are alike\";\n";
    box(host, host.name() + "\\n" + node_.cpu + "\\nmemory " + print_rate(node_.host_memory_rate), "#e8e8e8");
    draw_children(host);
    text_ += "  }\n";
    draw_edges(host);
  }

  void draw_children(WireEnd above) {
    const auto found = tree_.children.find(above);
    if (found == tree_.children.end()) return;
    for (const NodeTree::Child& child : found->second) {
      const WireEnd end = child.device;
      const std::string up = "\\n" + print_rate(child.rate);
      if (end.kind == Kind::gpu) {
        shown_gpus_.insert(end);
        box(end, end.name() + up, "#c9e7b8");
      } else if (end.kind == Kind::nic) {
        const bool rated = !node_.nic_rates.empty();
        const std::string line =
            rated ? "\\nline " + exact_rate(node_.nic_rates[static_cast<std::size_t>(end.index)], true) : "";
        box(end, end.name() + up + line, "#ffe0b0");
      } else {
        box(end, end.name() + up, "#d5e3f5");
      }
      draw_children(end);
    }
  }

  void draw_edges(WireEnd above) {
    const auto found = tree_.children.find(above);
    if (found == tree_.children.end()) return;
    for (const NodeTree::Child& child : found->second) {
      edge(above, child.device, dot_line("pcie"), "");
      draw_edges(child.device);
    }
  }

  void draw_nvlinks() {
    bool switched = false;
    for (const NodeWire& wire : tree_.nvlinks) {
      const bool to_switch = wire.second.kind == Kind::nvswitch;
      if (shown_gpus_.count(wire.first) == 0 || (!to_switch && shown_gpus_.count(wire.second) == 0)) continue;
      switched = switched || to_switch;
      if (to_switch) {
        edge(wire.first, wire.second, dot_line("nvlink"), "");
        continue;
      }
      // Cables run beneath the GPUs, clear of PCIe; colour and width tell how many links are in one.
      const std::string look = cable_look(wire);
      text_ +=
          "  " + wire.first.name() + ":s -- " + wire.second.name() + ":s [" + look + ", constraint=false];\n";
    }
    if (!switched) return;
    const NodeWire& one = tree_.nvlinks.front();
    text_ += "  nvswitch0 [label=\"NVSwitch\\n" + std::to_string(one.links) + " links, " +
             print_rate(one.rate) + " per GPU and direction\", fillcolor=\"#a8d78c\", shape=box, width=6];\n";
  }

  std::string cable_look(const NodeWire& wire) {
    static constexpr const char* shades[] = {"#8fcf6f", "#4c9a2a", "#1f5c0a", "#c2a300"};
    const auto [known, fresh] = cables_.try_emplace(wire.links, cables_.size());
    const std::string look =
        std::string("color=\"") + shades[known->second % std::size(shades)] +
        "\", penwidth=" + std::to_string(std::min(2 + 2 * static_cast<int>(known->second), 8));
    if (fresh)
      legend_.push_back({shades[known->second % std::size(shades)],
                         "NVLink, " + std::to_string(wire.links) +
                             (wire.links == 1 ? " link, " : " links, ") + print_rate(wire.rate)});
    return look;
  }

  void box(WireEnd end, const std::string& label, const std::string& colour) {
    text_ += "    " + end.name() + " [label=\"" + label + "\", fillcolor=\"" + colour + "\"];\n";
  }
  void edge(WireEnd a, WireEnd b, const std::string& look, const std::string& more) {
    text_ += "  " + a.name() + " -- " + b.name() + " [" + look + (more.empty() ? "" : ", " + more) + "];\n";
  }

  const NodeSpec& node_;
  NodeTree tree_;
  std::map<WireEnd, int> drawn_;  ///< how many hosts look like it
  std::set<WireEnd> shown_gpus_;
  std::map<int, std::size_t> cables_;  ///< by number of links
  std::vector<DotColour> legend_;
  std::string text_;
};

}  // namespace

std::string node_dot(const NodeSpec& node) { return NodeDot(node).write(); }

}  // namespace stepcast
