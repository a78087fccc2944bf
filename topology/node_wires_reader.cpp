#include "topology/node_wires_reader.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/quantity.hpp"
#include "topology/figure_reader.hpp"

namespace stepcast {
namespace {

using Kind = WireEnd::Kind;

constexpr std::int64_t most_links = 1024;
const char* const form =
    "each link is [\"one end\", \"other end\", \"rate\"], for example [\"gpu0\", \"pcie0\", \"31.5 GB/s\"]";

/// Why no wire joins these two, or "".
std::string unfit(const WireEnd& a, const WireEnd& b) {
  if (a == b) return "joins a device to itself";
  const Kind low = std::min(a.kind, b.kind), high = std::max(a.kind, b.kind);
  if (high == Kind::nvswitch && low == Kind::nvswitch)
    return "joins two NVSwitches; nvswitch0 alone stands for all of a node";
  if (low == Kind::nvswitch) return "joins an NVSwitch to something else than a GPU";
  if (high == Kind::nic && (low == Kind::gpu || low == Kind::nic))
    return "joins a network card to a " + std::string(low == Kind::gpu ? "GPU" : "network card") +
           "; cards hang on a PCIe switch or a host";
  return "";
}

class GraphReader {
 public:
  GraphReader(NodeSpec& node, NodePlaces& places, std::vector<Diagnostic>& faults)
      : node_(node), places_(places), faults_(faults) {}

  void read(const Value& list) {
    places_.nvlink = list.place;
    if (list.kind != Value::Kind::array || list.array.empty()) {
      fault(list.place, "graph.links must be a list of links, not empty", form);
      return;
    }
    for (const Value& entry : list.array) read_link(entry);
    check_numbers(list.place);
    count_nvlinks();
    derive_figures();
  }

 private:
  void fault(const SourcePlace& place, std::string message, std::string hint) {
    faults_.push_back({place, std::move(message), std::move(hint)});
    places_.wires_faulty = true;
  }

  std::optional<WireEnd> read_end(const Value& value) {
    const std::string known = "gpu0.., nvswitch0, pcie0.., host0.., nic0..";
    if (value.kind == Value::Kind::string) {
      const std::optional<WireEnd> end = parse_wire_end(value.string);
      if (end && end->kind == Kind::gpu && node_.gpus > 0 && end->index >= node_.gpus) {
        fault(value.place,
              "graph.links: \"" + value.string + "\" is not there: gpus is " + std::to_string(node_.gpus),
              "GPUs are numbered gpu0 to gpu" + std::to_string(node_.gpus - 1));
        return {};
      }
      if (end && end->kind == Kind::nvswitch && end->index > 0) {
        fault(
            value.place, "graph.links: there is only nvswitch0",
            "one NVSwitch stands for all of a node: give each GPU one link to it with the sum of the rates");
        return {};
      }
      if (end) return end;
    }
    fault(value.place, "graph.links: \"" + value.to_text() + "\" is no device of a node",
          "devices are " + known);
    return {};
  }

  void read_link(const Value& entry) {
    if (entry.kind != Value::Kind::array || entry.array.size() < 3 || entry.array.size() > 4) {
      fault(entry.place, "graph.links holds " + entry.to_text(), form);
      return;
    }
    const std::optional<WireEnd> first = read_end(entry.array[0]), second = read_end(entry.array[1]);
    const Value& figure = entry.array[2];
    const BytesPerSecond rate =
        (figure.kind == Value::Kind::string ? parse_rate(figure.string) : std::nullopt)
            .value_or(BytesPerSecond{});
    if (!(rate.value > 0))
      fault(figure.place, "graph.links: " + figure.to_text() + " is no rate above zero",
            "expected " + std::string(rate_units));
    if (!first || !second || !(rate.value > 0)) return;
    const std::string name = first->name() + " - " + second->name();
    NodeWire wire{*first, *second, rate, 0};
    if (const std::string why = unfit(*first, *second); !why.empty()) {
      fault(entry.place, "graph.links: " + name + " " + why, form);
      return;
    }
    if (!seen_.insert(std::minmax(*first, *second)).second) {
      fault(entry.place, "graph.links: " + name + " stands there twice",
            "one link stands for all cables between the two: give it the sum of their rates");
      return;
    }
    if (entry.array.size() == 4) {
      const Value& links = entry.array[3];
      if (links.kind != Value::Kind::integer || links.integer < 1 || links.integer > most_links ||
          !wire.is_nvlink()) {
        fault(links.place, "graph.links: " + links.to_text() + " is no number of NVLinks",
              wire.is_nvlink() ? "expected a whole number 1 to " + std::to_string(most_links)
                               : "only links between GPUs and NVSwitch are counted");
        return;
      }
      wire.links = static_cast<int>(links.integer);
    }
    node_.wires.push_back(wire);
  }

  void check_numbers(const SourcePlace& place) {
    std::map<Kind, std::set<int>> numbers;
    for (const NodeWire& wire : node_.wires) {
      for (const WireEnd& end : {wire.first, wire.second}) numbers[end.kind].insert(end.index);
    }
    for (const auto& [kind, found] : numbers) {
      const int count = static_cast<int>(found.size());
      if (kind == Kind::host) node_.sockets = count;
      if (kind == Kind::nic) node_.nics_default = count;
      if (kind == Kind::gpu || *found.rbegin() == count - 1) continue;
      int missing = 0;
      while (found.count(missing) > 0) ++missing;
      const std::string word(word_of(kind));
      fault(place,
            "graph.links names " + word + std::to_string(*found.rbegin()) + " but no " + word +
                std::to_string(missing),
            "number the devices of a kind from 0 without gaps");
    }
    for (int gpu = 0; gpu < node_.gpus && !places_.wires_faulty; ++gpu) {
      if (numbers[Kind::gpu].count(gpu) == 0)
        fault(place, "no link of graph.links leads to gpu" + std::to_string(gpu),
              "gpus is " + std::to_string(node_.gpus) + ": join each to a PCIe switch or a host");
    }
    if (numbers[Kind::host].empty() && !places_.wires_faulty)
      fault(place, "graph.links names no host", "join GPUs or PCIe switches to \"host0\", the first socket");
  }

  void count_nvlinks() {
    double slowest = 0;
    for (const NodeWire& wire : node_.wires) {
      if (!wire.is_nvlink()) continue;
      const bool to_switch = wire.first.kind == Kind::nvswitch || wire.second.kind == Kind::nvswitch;
      if (to_switch) node_.nvlink = NodeSpec::Nvlink::fabric_switch;
      if (node_.nvlink == NodeSpec::Nvlink::none) node_.nvlink = NodeSpec::Nvlink::mesh;
      slowest = slowest > 0 ? std::min(slowest, wire.rate.value) : wire.rate.value;
    }
    for (NodeWire& wire : node_.wires) {
      if (wire.links > 0) continue;
      wire.links =
          wire.is_nvlink()
              ? static_cast<int>(std::clamp(std::round(wire.rate.value / slowest), 1.0, double{most_links}))
              : 1;
    }
  }

  /// What NCCL's model asks of a node as a whole: the rate of an NVLink, the most links of a GPU, a slot's
  /// rate.
  void derive_figures() {
    std::map<WireEnd, int> links;
    BytesPerSecond of_cards, of_gpus;
    for (const NodeWire& wire : node_.wires) {
      if (wire.is_nvlink()) {
        const BytesPerSecond each = wire.rate / wire.links;
        const bool slower = !(node_.nvlink_rate_per_link.value > 0) || each < node_.nvlink_rate_per_link;
        if (slower) node_.nvlink_rate_per_link = each;
        for (const WireEnd& end : {wire.first, wire.second})
          if (end.kind == Kind::gpu) links[end] += wire.links;
        continue;
      }
      for (const WireEnd& end : {wire.first, wire.second}) {
        if (end.kind == Kind::nic) of_cards = std::max(of_cards, wire.rate);
        if (end.kind == Kind::gpu) of_gpus = std::max(of_gpus, wire.rate);
      }
    }
    for (const auto& [gpu, count] : links)
      node_.nvlink_links_per_gpu = std::max(node_.nvlink_links_per_gpu, count);
    node_.pcie_rate = of_cards.value > 0 ? of_cards : of_gpus;
  }

  NodeSpec& node_;
  NodePlaces& places_;
  std::vector<Diagnostic>& faults_;
  std::set<std::pair<WireEnd, WireEnd>> seen_;
};

void read_nic_rates(FigureReader& in, NodeSpec& node, std::vector<Diagnostic>& faults) {
  const Value* rates = in.raw("nic_rates");
  if (rates == nullptr) return;
  const std::string hint = "one line rate for each network card, for example [\"400 Gb/s\", \"400 Gb/s\"]";
  if (rates->kind != Value::Kind::array) {
    faults.push_back({rates->place, "graph.nic_rates must be a list of rates", hint});
    return;
  }
  for (const Value& item : rates->array) {
    const auto rate = item.kind == Value::Kind::string ? parse_rate(item.string) : std::nullopt;
    if (rate && rate->value > 0) {
      node.nic_rates.push_back(*rate);
    } else {
      faults.push_back({item.place, "graph.nic_rates: " + item.to_text() + " is no rate above zero",
                        "expected " + std::string(rate_units)});
      return;
    }
  }
  if (static_cast<int>(node.nic_rates.size()) != node.nics_default)
    faults.push_back({rates->place,
                      "graph.nic_rates lists " + std::to_string(node.nic_rates.size()) +
                          " but graph.links names " + std::to_string(node.nics_default) + " network cards",
                      hint});
}

}  // namespace

void read_node_graph(const Value& table, NodeSpec& node, NodePlaces& places,
                     std::vector<Diagnostic>& faults) {
  FigureReader in(table, "graph", faults);
  in.require("links", "the wires of the node");
  node.nics_default = 0;
  node.sockets = 1;
  if (const Value* links = in.raw("links")) GraphReader(node, places, faults).read(*links);
  read_nic_rates(in, node, faults);
  node.pcie_peer_to_peer = in.boolean("peer_to_peer").value_or(false);
  node.gpudirect = in.boolean("gpudirect").value_or(false);
  node.nvlink_sharp = in.boolean("sharp").value_or(false);
  if (node.nvlink_sharp && node.nvlink != NodeSpec::Nvlink::fabric_switch && !places.wires_faulty)
    faults.push_back({in.place("sharp"), "graph.sharp is only for nodes with an NVSwitch", "remove it"});
  in.finish();
}

}  // namespace stepcast
