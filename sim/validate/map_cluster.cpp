#include <algorithm>
#include <cmath>
#include <regex>

#include "base/print.hpp"
#include "sim/validate/row_mapper.hpp"
#include "topology/node.hpp"

namespace stepcast::detail {
namespace {

struct Network {
  std::string fabric;
  std::optional<long> nics;
};

long whole_gigabits(double gigabits) {
  if (!(gigabits >= 0.5) || gigabits > 1e6) throw SkippedRow{"the network's rate is not plausible"};
  return std::lround(gigabits);
}

/// Ports and Gb/s a port, read out of the network's words by the rule's pattern.
std::optional<std::pair<long, double>> read_ports(const MappingRule& rule, const std::string& words) {
  const auto pattern = rule.text("read");
  std::smatch groups;
  if (!pattern || !std::regex_search(words, groups, std::regex(*pattern, std::regex::icase)) ||
      groups.size() < 3) {
    return std::nullopt;
  }
  return std::pair{std::stol(groups[1].str()), std::stod(groups[2].str())};
}

/// The network that the row names, or the usual one of its GPU.
/// A node's rate is `inter_node_gbps_per_gpu` times its GPUs; it is divided among its ports.
Network network_of(RowMapper& mapper, const std::string& usual, long gpus_per_node) {
  const MeasuredRow& row = mapper.row();
  const std::string& words = row.text("inter_node_link");
  const auto per_gpu = row.number("inter_node_gbps_per_gpu");
  const std::string usual_kind = usual.substr(0, usual.find('-'));
  if (words.empty() && !per_gpu) {
    mapper.assume("fabric " + usual + " (usual for such nodes)");
    return {usual, std::nullopt};
  }
  std::string kind = usual_kind;
  std::optional<double> nics, rate;
  if (!words.empty()) {
    const MappingRule& rule = mapper.require("network", "network \"{inter_node_link}\" is not known");
    kind = rule.text("kind").value_or(kind);
    nics = rule.number("nics_per_node");
    rate = rule.number("gbps_per_nic");
    if (const auto ports = read_ports(rule, words)) {
      nics = static_cast<double>(ports->first);
      rate = ports->second;
    }
  } else {
    mapper.assume("network of kind " + kind + " (usual for such nodes)");
  }
  if (per_gpu) {
    const double node_rate = *per_gpu * static_cast<double>(gpus_per_node);
    if (!nics || *nics < 1) nics = static_cast<double>(gpus_per_node);
    rate = node_rate / *nics;
  }
  if (!rate) {
    if (kind != usual_kind) throw SkippedRow{"network \"" + words + "\": its rate is not stated"};
    mapper.assume("fabric " + usual + " (usual for such nodes)");
    return {usual, std::nullopt};
  }
  Network network{kind + "-" + std::to_string(whole_gigabits(*rate)) + "g", std::nullopt};
  if (nics) network.nics = std::lround(*nics);
  return network;
}

}  // namespace

MappedCluster map_cluster(RowMapper& mapper) {
  const MeasuredRow& row = mapper.row();
  const MappingRule& rule = mapper.require("gpu", "GPU {gpu} has no profile");
  const std::string node_name = rule.text("node").value_or("");
  const NodeSpec node = load_node(node_name, {});
  const long gpus = mapper.count("gpus_total", "no GPU count");
  if (gpus > 1'000'000) throw SkippedRow{"gpus_total is not plausible"};

  long per_node = 0;
  if (const auto stated = row.count("gpus_per_node")) {
    per_node = *stated;
  } else {
    per_node = std::min<long>(gpus, node.gpus);
    if (gpus > 1) mapper.assume(std::to_string(per_node) + " GPUs a node (as " + node_name + " has)");
  }
  if (gpus > 1 && !row.has("intra_node_link")) mapper.assume("node " + node_name + " (usual for this GPU)");
  const long machine = per_node;
  per_node = std::min(per_node, gpus);
  if (per_node > node.gpus) {
    throw SkippedRow{std::to_string(per_node) + " GPUs a node, but " + node_name + " has " +
                     std::to_string(node.gpus)};
  }
  if (gpus % per_node != 0) {
    throw SkippedRow{std::to_string(gpus) + " GPUs do not fill nodes of " + std::to_string(per_node) +
                     " alike"};
  }

  MappedCluster cluster;
  cluster.gpu = node.gpu;
  cluster.gpus = static_cast<int>(gpus);
  cluster.nodes = static_cast<int>(gpus / per_node);
  TableMaker section(row);
  section.set("nodes", cluster.nodes).set("node", node_name).set("gpus_per_node", per_node);
  if (cluster.nodes > 1) {
    const Network network = network_of(mapper, rule.text("fabric").value_or(""), machine);
    section.set("fabric", network.fabric);
    if (network.nics) section.set("nics_per_node", *network.nics);
  }
  cluster.section = section.value();
  mapper.found("@node", node_name);
  mapper.found("@gpu", node.gpu);
  return cluster;
}

}  // namespace stepcast::detail
