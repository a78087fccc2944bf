#include "topology/node_toml.hpp"

#include <charconv>

#include "topology/node_wiring.hpp"

namespace stepcast {
namespace {

WireEnd end_of(const Device& device) {
  const std::optional<WireEnd> end = parse_wire_end(device.name);
  STEPCAST_CHECK(end.has_value(), "a device of a node without a name of its own");
  return *end;
}

std::string figure(const std::string& key, const std::string& value, const std::string& source) {
  return key + " = { value = " + value + ", source = " + toml_text(source) + " }\n";
}

std::string wire_text(const NodeWire& wire) {
  std::string text = "  [" + toml_text(wire.first.name()) + ", " + toml_text(wire.second.name()) + ", " +
                     toml_text(exact_rate(wire.rate));
  if (wire.is_nvlink()) text += ", " + std::to_string(wire.links);
  return text + "],";
}

}  // namespace

std::string exact_rate(BytesPerSecond rate, bool in_bits) {
  char digits[64];
  const double number = in_bits ? rate.value * 8 / 1e9 : rate.value / 1e9;
  // Twelve digits: a sum or product of rates carries rounding beyond them, and no figure has so many.
  const auto [end, error] =
      std::to_chars(digits, digits + sizeof digits, number, std::chars_format::general, 12);
  STEPCAST_CHECK(error == std::errc{}, "a rate that can't be written");
  return std::string(digits, end) + (in_bits ? " Gb/s" : " GB/s");
}

std::string toml_text(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
  }
  return quoted + "\"";
}

std::vector<NodeWire> wires_of(const NodeSpec& node) {
  if (!node.wires.empty()) return node.wires;
  FabricSpec cards;
  cards.transport = Transport::infiniband;
  const std::vector<NicPlace> places =
      node.nics_default > 0 ? place_nics(node, node.gpus, cards) : std::vector<NicPlace>{};
  const NodeWiring wiring = wire_node(node, node.gpus, places);
  std::vector<NodeWire> wires;
  for (const Link& link : wiring.links) {
    if (link.from > link.to) continue;
    const WireEnd from = end_of(wiring.devices[static_cast<std::size_t>(link.from)]);
    const WireEnd to = end_of(wiring.devices[static_cast<std::size_t>(link.to)]);
    NodeWire wire{from, to, link.capacity, 1};
    if (to.kind == WireEnd::Kind::nvswitch) wire.links = node.nvlink_links_per_gpu;
    if (to.kind == WireEnd::Kind::gpu)
      wire.links = wiring.nvlinks[static_cast<std::size_t>(link.from * wiring.gpus + link.to)];
    wires.push_back(wire);
  }
  return wires;
}

std::string node_toml(const NodeSpec& node, const NodeSources& sources) {
  std::string text;
  for (const std::string& line : sources.header) text += "# " + line + "\n";
  text += "name = " + toml_text(node.name) + "\n";
  text += "gpu = " + toml_text(node.gpu) + "  # name of the GPU profile\n";
  text += "gpus = " + std::to_string(node.gpus) + "\n\n[graph.links]\n";
  text += "source = " + toml_text(sources.links) + "\n";
  text += "# [one end, other end, rate of one direction, NVLinks in it]\nvalue = [\n";
  const std::vector<NodeWire> wires = wires_of(node);
  for (std::size_t i = 0; i < wires.size(); ++i) {
    text += wire_text(wires[i]);
    if (i < sources.wire_comments.size() && !sources.wire_comments[i].empty())
      text += "  # " + sources.wire_comments[i];
    text += "\n";
  }
  text += "]\n\n[graph]\n";
  if (!node.nic_rates.empty()) {
    std::string rates;
    for (const BytesPerSecond rate : node.nic_rates)
      rates += (rates.empty() ? "" : ", ") + toml_text(exact_rate(rate, true));
    text += figure("nic_rates", "[" + rates + "]", sources.nic_rates);
  }
  text += figure("peer_to_peer", node.pcie_peer_to_peer ? "true" : "false", sources.peer_to_peer);
  text += figure("gpudirect", node.gpudirect ? "true" : "false", sources.gpudirect);
  if (node.nvlink_sharp) text += figure("sharp", "true", sources.sharp);
  text += "\n[host]\n";
  text += figure("memory_rate", toml_text(exact_rate(node.host_memory_rate)), sources.memory_rate);
  text += figure("cpu", toml_text(node.cpu), sources.cpu);
  return text;
}

}  // namespace stepcast
