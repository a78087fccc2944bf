#include <algorithm>
#include <iostream>

#include "base/print.hpp"
#include "cli/files.hpp"
#include "cli/graphviz.hpp"
#include "cli/topology.hpp"
#include "cli/topology_target.hpp"
#include "topology/node_toml.hpp"
#include "topology/picture/picture.hpp"

namespace stepcast {
namespace {

const std::vector<OptionSpec> specs = {
    {"--svg", "FILE", "a drawing, made by Graphviz's dot", false},
    {"--dot", "FILE", "the drawing as text for Graphviz", false},
    {"--json", "FILE|-", "devices and links as JSON; \"-\": to stdout, and nothing else there", false},
    {"--set", "key=value", "of a scenario: set a key; may be repeated", false},
    {"--help", "", "this text", false},
};

std::string help() {
  return "usage: stepcast topology show FILE|PRESET|SCENARIO [options]\n"
         "\n"
         "A machine: hosts with what hangs beneath them, NVLink, and the table of nvidia-smi topo -m. A "
         "scenario: its\n"
         "network by levels, then its machines. A fabric: its figures. A scenario's drawing is that of its "
         "network.\n"
         "\n"
         "options:\n" +
         list_options(specs) +
         "\n"
         "examples:\n"
         "  stepcast topology show hgx-h100\n"
         "  stepcast topology show node.toml --svg node.svg\n"
         "  stepcast topology show scenarios/8-to-32.toml --set cluster.nodes=4 --json - | jq '.links | "
         "length'\n";
}

std::string fabric_text(const FabricSpec& fabric) {
  std::string text = "fabric " + fabric.name + ", " + std::string(name_of(fabric.transport)) + "\n";
  text += "  line rate of a card " + exact_rate(fabric.link_rate, true) + ", of which large messages reach " +
          print_share(fabric.efficiency) + "\n";
  text += "  latency through one switch " + print_time(fabric.link_latency) + ", each further switch " +
          print_time(fabric.switch_latency) + "\n";
  text += "  switches of " + std::to_string(fabric.leaf_ports) + " ports; network cards " +
          (fabric.gpudirect ? "read" : "do not read") + " GPU memory\n";
  return text;
}

std::string text_of(const TopologyTarget& target) {
  if (!target.cluster) return target.node ? node_text(*target.node) : fabric_text(*target.fabric);
  const Cluster& cluster = *target.cluster;
  std::string text;
  if (target.fabric) text = fabric_text(*target.fabric) + network_text(cluster) + (target.node ? "\n" : "");
  if (!target.node) return text;
  std::vector<std::string> shown;
  for (int node = 0; node < cluster.node_count(); ++node) {
    const NodeSpec& spec = cluster.node_spec(node);
    if (std::find(shown.begin(), shown.end(), spec.name) != shown.end()) continue;
    text += (shown.empty() ? "" : "\n") + node_text(spec);
    shown.push_back(spec.name);
  }
  return text;
}

std::string dot_of(const TopologyTarget& target) {
  if (target.cluster && target.fabric && (target.cluster->node_count() > 1 || !target.node))
    return network_dot(*target.cluster);
  if (target.node) return node_dot(*target.node);
  throw usage_error("topology show: a fabric without [graph] has no drawing, since it says nothing of nodes",
                    "show a scenario that uses it");
}

std::string json_of(const TopologyTarget& target) {
  if (target.cluster) return cluster_json(*target.cluster, target.name);
  if (target.node) return node_json(*target.node);
  throw usage_error("topology show: a fabric without [graph] has no devices", "show a scenario that uses it");
}

}  // namespace

ExitCode topology_show(const Arguments& arguments) {
  const ParsedOptions options = parse_options(arguments, specs, "topology show");
  if (options.has("--help")) {
    std::cout << help();
    return ExitCode::done;
  }
  if (options.positionals.size() != 1)
    throw usage_error(
        options.positionals.empty() ? "topology show: what?" : "topology show: one thing at a time",
        "stepcast topology show FILE|PRESET|SCENARIO");
  const auto svg = options.value("--svg"), dot = options.value("--dot"), json = options.value("--json");
  if (svg) require_writable(*svg, "--svg");
  if (dot) require_writable(*dot, "--dot");
  if (json && json != "-") require_writable(*json, "--json");
  const TopologyTarget target = load_target(options.positionals.front(), options, "topology show");
  const std::string drawing = svg || dot ? dot_of(target) : "";
  if (json) {
    if (json == "-") {
      std::cout << json_of(target);
    } else {
      write_atomically(*json, json_of(target));
    }
  }
  if (json != "-") std::cout << text_of(target);
  if (dot) write_atomically(*dot, drawing);
  if (svg && !graphviz_is_here()) {
    std::cerr << "stepcast: --svg needs Graphviz, and there is no dot in the PATH; install it (Debian: "
                 "graphviz), or "
                 "take --dot to another machine\n";
    return ExitCode::machine_lacks;
  }
  if (svg) write_atomically(*svg, draw_svg(drawing));
  return ExitCode::done;
}

}  // namespace stepcast
