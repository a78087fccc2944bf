#pragma once

#include <string>
#include <vector>

#include "topology/node.hpp"

namespace stepcast {

/// Where the figures of a node come from, for its file.
struct NodeSources {
  std::vector<std::string> header;  ///< comment lines: what the file was made of
  std::string links, nic_rates, peer_to_peer, gpudirect, sharp, memory_rate, cpu;
  std::vector<std::string> wire_comments;  ///< by wire; may be empty
};

/// A node file with [graph], which load_node reads. Of a node with regular wiring: every wire written out,
/// with the cards of an RDMA fabric.
[[nodiscard]] std::string node_toml(const NodeSpec& node, const NodeSources& sources);

/// The wires of any node, each once, with the cards of an RDMA fabric.
[[nodiscard]] std::vector<NodeWire> wires_of(const NodeSpec& node);

/// A rate with all its digits, "31.5 GB/s" or, of network cards, "400 Gb/s".
[[nodiscard]] std::string exact_rate(BytesPerSecond rate, bool in_bits = false);
/// A text between quotes, as TOML wants it.
[[nodiscard]] std::string toml_text(const std::string& text);

}  // namespace stepcast
