#include "topology/import/import.hpp"

#include <algorithm>

#include "topology/import/complete_fabric.hpp"
#include "topology/import/complete_node.hpp"
#include "topology/import/ibnetdiscover.hpp"
#include "topology/import/nccl_xml.hpp"
#include "topology/import/other_formats.hpp"
#include "topology/import/slurm_tree.hpp"
#include "topology/import/smi_matrix.hpp"
#include "topology/import/smi_node.hpp"

namespace stepcast {
namespace {

std::string count_text(int count, const std::string& one, const std::string& many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

std::string summary_of(const CompletedNode& done) {
  int pairs = 0;
  bool switched = false;
  int switches = 0;
  for (const NodeWire& wire : done.node.wires) {
    for (const WireEnd& end : {wire.first, wire.second})
      if (end.kind == WireEnd::Kind::pcie) switches = std::max(switches, end.index + 1);
    if (!wire.is_nvlink()) continue;
    switched = switched || wire.second.kind == WireEnd::Kind::nvswitch;
    if (wire.second.kind == WireEnd::Kind::gpu) ++pairs;
  }
  int hosts = 0;
  for (const NodeWire& wire : done.node.wires)
    for (const WireEnd& end : {wire.first, wire.second})
      if (end.kind == WireEnd::Kind::host) hosts = std::max(hosts, end.index + 1);
  std::string text = count_text(done.node.gpus, "GPU", "GPUs");
  if (switched) text += ", NVSwitch";
  if (pairs > 0) text += ", NVLink between " + count_text(pairs, "pair", "pairs");
  if (!switched && pairs == 0) text += ", no NVLink";
  text += ", " + count_text(switches, "PCIe switch", "PCIe switches");
  text += ", " + count_text(done.node.nics_default, "network card", "network cards");
  return text + ", " + count_text(hosts, "NUMA node", "NUMA nodes");
}

/// Names come from files of others: what TOML does not take (broken UTF-8, control characters) becomes "?".
std::string as_toml(std::string text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = [&](std::size_t i) {
      return i < text.size() ? static_cast<unsigned>(static_cast<unsigned char>(text[i])) : 0U;
    };
    const unsigned lead = byte(at);
    const std::size_t length = lead < 0x80                   ? 1
                               : lead >= 0xc2 && lead < 0xe0 ? 2
                               : lead >= 0xe0 && lead < 0xf0 ? 3
                               : lead >= 0xf0 && lead < 0xf5 ? 4
                                                             : 0;
    bool sound = length > 0;
    for (std::size_t i = 1; i < length; ++i) sound = sound && (byte(at + i) & 0xc0U) == 0x80U;
    // Overlong forms, surrogates and what lies beyond the last plane.
    if (length == 3)
      sound = sound && !(lead == 0xe0 && byte(at + 1) < 0xa0) && !(lead == 0xed && byte(at + 1) > 0x9f);
    if (length == 4)
      sound = sound && !(lead == 0xf0 && byte(at + 1) < 0x90) && !(lead == 0xf4 && byte(at + 1) > 0x8f);
    if (length == 1) sound = (lead >= 0x20 && lead != 0x7f) || lead == '\n';
    if (!sound) text[at] = '?';
    at += sound ? length : 1;
  }
  return text;
}

TopologyImport finish(const NodeDraft& draft, const std::vector<ImportSetting>& settings,
                      const std::vector<std::string>& known_gpus) {
  const CompletedNode done = complete_node(draft, settings, known_gpus);
  TopologyImport result{"node", draft.format, summary_of(done), "", done.questions, done.notes};
  if (!done.questions.empty()) return result;
  result.toml = as_toml(node_toml(done.node, done.sources));
  (void)parse_node(result.toml,
                   draft.file.file);  // a machine whose parts do not reach each other is a fault here
  return result;
}

TopologyImport finish(const FabricDraft& draft, const std::vector<ImportSetting>& settings) {
  const CompletedFabric done = complete_fabric(draft, settings);
  return {"fabric", draft.format, done.summary, as_toml(done.toml), done.questions, done.notes};
}

}  // namespace

TopologyImport import_topology(std::string_view text, const std::string& file,
                               const std::vector<ImportSetting>& settings,
                               const std::vector<std::string>& known_gpus) {
  const SourceText source(text, file);
  const auto& lines = source.lines();
  const bool blank =
      std::all_of(lines.begin(), lines.end(), [](const std::string& line) { return trim(line).empty(); });
  const auto refuse = [&](const std::string& message, const std::string& hint) {
    throw ScenarioError(Diagnostic{source.whole(), message, hint});
  };
  if (blank) refuse("the file is empty", importable_formats);
  if (source.is_binary()) refuse("this is no text", importable_formats);
  const auto first =
      std::find_if(lines.begin(), lines.end(), [](const std::string& line) { return !trim(line).empty(); });
  if (trim(*first).front() == '<') return finish(read_nccl_xml(text, file), settings, known_gpus);
  if (std::any_of(lines.begin(), lines.end(), is_smi_header))
    return finish(node_of(read_smi_matrix(source), source.whole()), settings, known_gpus);
  if (is_ibnetdiscover(source)) return finish(read_ibnetdiscover(source), settings);
  if (is_slurm_tree(source)) return finish(read_slurm_tree(source), settings);
  refuse_other_format(source);
}

}  // namespace stepcast
