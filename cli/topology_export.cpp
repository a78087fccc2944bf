#include <cmath>
#include <iostream>

#include "cli/files.hpp"
#include "cli/topology.hpp"
#include "cli/topology_target.hpp"
#include "sim/cost/profile.hpp"
#include "topology/import/write_nccl_xml.hpp"
#include "topology/node_toml.hpp"

namespace stepcast {
namespace {

const std::vector<OptionSpec> specs = {
    {"--format", "toml|nccl-xml", "a node file with every wire, or NCCL's topology XML", false},
    {"--out", "FILE", "the file to write; stdout by default", false},
    {"--set", "key=value", "of a scenario: set a key; may be repeated", false},
    {"--help", "", "this text", false},
};

std::string help() {
  return "usage: stepcast topology export FILE|PRESET|SCENARIO --format toml|nccl-xml [--out FILE]\n"
         "\n"
         "Writes a machine (of a scenario: its first one) as a node file that names every wire, or as "
         "topology XML for\n"
         "NCCL_TOPO_FILE. Bus ids in the XML are made up, in order: put your machine's in their place.\n"
         "\n"
         "options:\n" +
         list_options(specs) +
         "\n"
         "examples:\n"
         "  stepcast topology export hgx-h100 --format nccl-xml --out topo.xml\n"
         "  stepcast topology export dgx-1-v100-16g --format toml --out mine.toml     # then change a wire\n";
}

std::string toml_of(const NodeSpec& node) {
  const std::string source = "as node " + node.name;
  NodeSources sources;
  sources.header = {"Node " + node.name + " with every wire written out by stepcast topology export."};
  sources.links = sources.nic_rates = sources.peer_to_peer = sources.gpudirect = sources.sharp =
      sources.memory_rate = sources.cpu = source;
  return node_toml(node, sources);
}

std::string xml_of(const TopologyTarget& target) {
  const NodeSpec& node = *target.node;
  const double capability =
      load_profile(node.gpu, node.name, "pytorch-compiled", {}, {}).gpu.compute_capability.value;
  const NcclXml written = nccl_xml(node, static_cast<int>(std::lround(capability * 10)),
                                   target.fabric ? &*target.fabric : nullptr);
  for (const std::string& note : written.notes) std::cerr << "note: " << note << "\n";
  return written.xml;
}

}  // namespace

ExitCode topology_export(const Arguments& arguments) {
  const ParsedOptions options = parse_options(arguments, specs, "topology export");
  if (options.has("--help")) {
    std::cout << help();
    return ExitCode::done;
  }
  if (options.positionals.size() != 1)
    throw usage_error(
        options.positionals.empty() ? "topology export: what?" : "topology export: one thing at a time",
        "stepcast topology export FILE|PRESET|SCENARIO --format toml|nccl-xml");
  const std::string format = options.value("--format").value_or("");
  if (format != "toml" && format != "nccl-xml")
    throw usage_error(format.empty() ? "topology export: in which format?"
                                     : "topology export: unknown format \"" + format + "\"",
                      "--format toml or --format nccl-xml");
  const auto out = options.value("--out");
  if (out) require_writable(*out, "--out");
  const TopologyTarget target = load_target(options.positionals.front(), options, "topology export");
  if (!target.node)
    throw usage_error("topology export: a fabric has no machine to export", "name a node or a scenario");
  if (target.node->host_device)
    throw usage_error("topology export: " + target.node->name + " has no GPU", "name a node with GPUs");
  const std::string text = format == "toml" ? toml_of(*target.node) : xml_of(target);
  if (out) {
    write_atomically(*out, text);
  } else {
    std::cout << text;
  }
  return ExitCode::done;
}

}  // namespace stepcast
