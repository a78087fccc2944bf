#include <algorithm>

#include "sim/collective/nccl_options.hpp"
#include "sim/scenario/read_sections.hpp"

namespace stepcast::detail {
namespace {

constexpr int most_channels = 64;  // NCCL's own limit

/// Why the cluster can't run the algorithm for any operation; empty when it can.
std::string obstacle(Algorithm algorithm, const ClusterSection& cluster, const NcclOptions& nccl) {
  const NodeSpec& node = cluster.node_spec;
  const bool reduces = node.nvlink == NodeSpec::Nvlink::fabric_switch && node.nvlink_sharp;
  switch (algorithm) {
    case Algorithm::nvls:
      if (!reduces) return "the node " + node.name + " has no NVSwitch that reduces";
      return cluster.nodes > 1 && !nccl.collnet ? "across nodes NVLS needs nccl.collnet (NVLSTree does not)"
                                                : "";
    case Algorithm::nvls_tree:
      if (!reduces) return "the node " + node.name + " has no NVSwitch that reduces";
      return cluster.nodes == 1 ? "NVLSTree needs several nodes" : "";
    case Algorithm::collnet_direct:
    case Algorithm::collnet_chain:
      if (cluster.nodes == 1) return "CollNet needs several nodes";
      return nccl.collnet ? "" : "CollNet needs nccl.collnet = true";
    case Algorithm::pat:
      if (nccl.version != NcclVersion::v2_27)
        return "PAT needs NCCL 2.23 or newer (here: nccl.version = \"2.27\")";
      return cluster.nodes == 1 || cluster.gpus_per_node > 1 ? "PAT needs one GPU on each of several nodes"
                                                             : "";
    default:
      return "";
  }
}

/// Where all algorithms that were asked for are impossible here, the point can't exist.
void check_algorithms(const Value& value, const ReadResult& read, std::vector<Diagnostic>& impossible) {
  std::string why;
  for (const Algorithm algorithm : read.scenario.nccl.algorithms) {
    const std::string here = obstacle(algorithm, read.scenario.cluster, read.scenario.nccl);
    if (here.empty()) return;
    if (why.empty()) why = here;
  }
  if (!why.empty())
    impossible.push_back({value.place, "nccl.algorithm \"" + value.string + "\" can't run: " + why,
                          "leave it out to let NCCL choose"});
}

/// `platform`: what the fabric's images set, where the scenario says nothing.
template <class Parse>
auto read_list(TableReader& reader, std::string_view key, const std::string& platform, Parse parse,
               const std::vector<std::string>& names) {
  std::string unknown;
  auto text = reader.string(key);
  if (!reader.has(key) && !platform.empty()) text = platform;
  auto list = text ? parse(*text, unknown) : decltype(parse("", unknown)){};
  if (!unknown.empty())
    reader.fault(key, "nccl." + std::string(key) + " names \"" + unknown + "\"", suggest(unknown, names));
  else if (text && list.empty())
    reader.fault(key, "nccl." + std::string(key) + " leaves nothing", "known: " + suggest("", names));
  return list;
}

}  // namespace

void read_nccl(const Value* given, ReadResult& result) {
  static const Value nothing = [] {
    Value empty;
    empty.kind = Value::Kind::table;
    return empty;
  }();
  const Value& table = given != nullptr ? *given : nothing;
  TableReader reader(table, "nccl", result.faults);
  NcclOptions& nccl = result.scenario.nccl;
  const ClusterSection& cluster = result.scenario.cluster;
  // On the command line a version reads as a number: --set nccl.version=2.21.
  const Value* version_value = reader.raw("version");
  std::optional<std::string> text;
  if (version_value != nullptr && version_value->is_number())
    text = version_value->to_text();
  else
    text = reader.string("version");
  if (text) {
    if (const auto version = nccl_version_of(*text)) {
      nccl.version = *version;
      if (!text->starts_with(name_of(*version)))
        result.scenario.notes.push_back("nccl.version " + *text + ": chosen as NCCL " +
                                        std::string(name_of(*version)) + " does");
    } else {
      reader.fault("version", "nccl.version is \"" + *text + "\"",
                   "expected \"2.18\" or newer, for example \"2.27\"");
    }
  }
  const bool crosses = cluster.nodes > 1;
  nccl.algorithms = read_list(reader, "algorithm", crosses ? cluster.fabric_spec.nccl_algorithm : "",
                              nccl_algorithms, nccl_algorithm_names());
  nccl.protocols = read_list(reader, "protocol", crosses ? cluster.fabric_spec.nccl_protocol : "",
                             nccl_protocols, nccl_protocol_names());
  nccl.min_channels = static_cast<int>(reader.integer("min_channels", 1, most_channels).value_or(0));
  nccl.max_channels = static_cast<int>(reader.integer("max_channels", 1, most_channels).value_or(0));
  if (nccl.max_channels > 0 && nccl.min_channels > nccl.max_channels)
    reader.fault("min_channels", "nccl.min_channels is above nccl.max_channels");
  nccl.collnet = reader.boolean("collnet").value_or(false);
  if (nccl.collnet && cluster.nodes > 1 && !cluster.fabric_spec.sharp)
    result.impossible.push_back({reader.raw("collnet")->place,
                                 "nccl.collnet needs a network that reduces, and " +
                                     cluster.fabric_spec.name + " has no such switches",
                                 "say so with cluster.sharp = true, or in a fabric file's [switch] table"});
  nccl.tuned_sockets = reader.choice("sockets", {"untuned", "tuned"}) == "tuned";
  if (nccl.tuned_sockets && cluster.nodes > 1 && cluster.fabric_spec.transport != Transport::ethernet)
    result.scenario.notes.push_back("nccl.sockets is not used: " + cluster.fabric_spec.name + " is not TCP");
  nccl.pxn = reader.boolean("pxn").value_or(!crosses || cluster.fabric_spec.nccl_pxn);
  nccl.channels_per_net_peer =
      static_cast<int>(reader.integer("nchannels_per_net_peer", 1, most_channels).value_or(0));
  reader.finish();
  if (const Value* algorithm = table.find("algorithm"); algorithm != nullptr && !nccl.algorithms.empty())
    check_algorithms(*algorithm, result, result.impossible);
}

}  // namespace stepcast::detail
