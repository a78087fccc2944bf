#include <algorithm>

#include "base/print.hpp"
#include "topology/node_toml.hpp"
#include "topology/node_tree.hpp"
#include "topology/picture/picture.hpp"

namespace stepcast {
namespace {

using Kind = WireEnd::Kind;

class NodeText {
 public:
  explicit NodeText(const NodeSpec& node) : node_(node), tree_(node) {}

  std::string write() {
    title();
    for (int host = 0; host < tree_.hosts; ++host) {
      const WireEnd end{Kind::host, host};
      text_ += "\n" + end.name() + "  " + node_.cpu + ", memory " + print_rate(node_.host_memory_rate) + "\n";
      branch(end, "");
    }
    sockets();
    nvlinks();
    matrix();
    return text_;
  }

 private:
  void title() {
    const auto count = [](int number, const std::string& word) {
      return std::to_string(number) + " " + word + (number == 1 ? "" : "s");
    };
    const char* nvlink = node_.nvlink == NodeSpec::Nvlink::none   ? "no NVLink"
                         : node_.nvlink == NodeSpec::Nvlink::mesh ? "NVLink between pairs"
                                                                  : "NVSwitch";
    text_ = node_.name + ": " + count(node_.gpus, "GPU") + " (" + node_.gpu + "), " + nvlink +
            (node_.nvlink_sharp ? " that reduces" : "") + ", " + count(tree_.cards, "network card") + ", " +
            count(tree_.hosts, "socket") + "\n";
    text_ += std::string("GPUs ") + (node_.pcie_peer_to_peer ? "reach" : "do not reach") +
             " each other over PCIe; network cards " + (node_.gpudirect ? "read" : "do not read") +
             " GPU memory\n";
  }

  void branch(WireEnd above, const std::string& indent) {
    const auto found = tree_.children.find(above);
    if (found == tree_.children.end()) return;
    for (std::size_t i = 0; i < found->second.size(); ++i) {
      const NodeTree::Child& child = found->second[i];
      const bool last = i + 1 == found->second.size();
      text_ += indent + (last ? "`-- " : "|-- ") + child.device.name() + "  " + print_rate(child.rate);
      if (child.device.kind == Kind::nic && !node_.nic_rates.empty())
        text_ +=
            ", line rate " + exact_rate(node_.nic_rates[static_cast<std::size_t>(child.device.index)], true);
      text_ += "\n";
      branch(child.device, indent + (last ? "    " : "|   "));
    }
  }

  /// Wires of one kind: alike ones on one line.
  void wires(const std::string& title, const std::vector<NodeWire>& of, bool count_links) {
    if (of.empty()) return;
    text_ += "\n" + title + "\n";
    std::vector<std::string> figures;
    std::vector<std::vector<const NodeWire*>> alike;
    for (const NodeWire& wire : of) {
      std::string figure = print_rate(wire.rate);
      if (count_links) figure += " (" + std::to_string(wire.links) + (wire.links == 1 ? " link)" : " links)");
      const auto known = std::find(figures.begin(), figures.end(), figure);
      if (known == figures.end()) {
        figures.push_back(figure);
        alike.push_back({&wire});
      } else {
        alike[static_cast<std::size_t>(known - figures.begin())].push_back(&wire);
      }
    }
    for (std::size_t i = 0; i < figures.size(); ++i) {
      std::string line = "  " + figures[i] + ": ";
      if (alike[i].size() > 40) {
        line += std::to_string(alike[i].size()) + " alike, from " + name(*alike[i].front()) + " to " +
                name(*alike[i].back());
      } else {
        for (std::size_t j = 0; j < alike[i].size(); ++j) {
          const std::string next = (j == 0 ? "" : ", ") + name(*alike[i][j]);
          if (line.size() - (line.rfind('\n') + 1) + next.size() > 100)
            line += (j == 0 ? "" : ",") + std::string("\n    ") + name(*alike[i][j]);
          else
            line += next;
        }
      }
      text_ += line + "\n";
    }
  }

  static std::string name(const NodeWire& wire) { return wire.first.name() + " - " + wire.second.name(); }

  void sockets() { wires("between sockets, per direction:", tree_.between_sockets, false); }
  void nvlinks() { wires("NVLink, per direction:", tree_.nvlinks, true); }

  void matrix() {
    std::vector<WireEnd> devices;
    for (int gpu = 0; gpu < node_.gpus; ++gpu) devices.push_back({Kind::gpu, gpu});
    for (int nic = 0; nic < tree_.cards; ++nic) devices.push_back({Kind::nic, nic});
    constexpr std::size_t widest = 32;
    if (devices.size() > widest) return;
    const auto label = [](const WireEnd& end) {
      return (end.kind == Kind::gpu ? "GPU" : "NIC") + std::to_string(end.index);
    };
    const auto cell = [](const std::string& word) {
      return word + std::string(word.size() < 6 ? 6 - word.size() : 1, ' ');
    };
    const auto add_line = [&](std::string line) {
      line.erase(line.find_last_not_of(' ') + 1);
      text_ += line + "\n";
    };
    std::string head = cell("");
    for (const WireEnd& end : devices) head += cell(label(end));
    text_ += "\n";
    add_line(head);
    for (const WireEnd& a : devices) {
      std::string line = cell(label(a));
      for (const WireEnd& b : devices) line += cell(tree_.relation(a, b));
      add_line(line);
    }
    text_ +=
        "X itself, NV# links of NVLink, PIX one PCIe switch, PXB several, PHB through the host, SYS between "
        "sockets\n";
  }

  const NodeSpec& node_;
  NodeTree tree_;
  std::string text_;
};

}  // namespace

std::string node_text(const NodeSpec& node) { return NodeText(node).write(); }

}  // namespace stepcast
