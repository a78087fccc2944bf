#pragma once

#include <string>

#include "topology/cluster.hpp"

namespace stepcast {

// Pictures of a machine, and of the network of a cluster. Every function takes all GPUs and cards of a node.

/// Hosts with what hangs beneath them, NVLink, and the table that nvidia-smi topo -m would print.
[[nodiscard]] std::string node_text(const NodeSpec& node);
/// The network by levels: switches, cables, rates, oversubscription.
[[nodiscard]] std::string network_text(const Cluster& cluster);

/// For Graphviz's dot. Hosts that are alike are drawn once where a node has more than sixteen GPUs.
[[nodiscard]] std::string node_dot(const NodeSpec& node);
/// Every node and switch up to 40 of each and 128 cables between switches; above, one box for each level.
[[nodiscard]] std::string network_dot(const Cluster& cluster);

/// {schema: "stepcast.topology/1", name, devices: [{name, kind, node, ...}], links: [{from, to, kind,
/// rate_Bps, latency_s}]}; links in both directions.
[[nodiscard]] std::string node_json(const NodeSpec& node);
[[nodiscard]] std::string cluster_json(const Cluster& cluster, const std::string& name);

}  // namespace stepcast
