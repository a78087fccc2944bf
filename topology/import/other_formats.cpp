#include "topology/import/other_formats.hpp"

#include <array>

namespace stepcast {
namespace {

struct OtherFormat {
  const char* mark;  ///< what a line of it begins with, blanks aside, or holds
  const char* what;
  const char* instead;
};

constexpr std::array other_formats{
    OtherFormat{
        "BlockName=",
        "Slurm's topology.conf of the block plugin: it says which nodes share an NVLink domain or rack, "
        "but nothing of switches and cables",
        "give ibnetdiscover's output, or a topology.conf with SwitchName lines (topology/tree)"},
    OtherFormat{"CA '", "ibstat's output: the ports of one host, not what they are cabled to",
                "give ibnetdiscover's output for the fabric, nvidia-smi topo -m for the host"},
    OtherFormat{" ==> ",
                "ibdev2netdev's output: names of the interfaces of one host, not what they are cabled to",
                "give ibnetdiscover's output for the fabric, nvidia-smi topo -m for the host"},
    OtherFormat{"VM_hostname ",
                "a list of hosts and port GUIDs (superbenchmark), not what they are cabled to",
                "give ibnetdiscover's output"},
    OtherFormat{
        "switches:", "a cluster model of topograph: switches and blocks by name, without links and rates",
        "let topograph write Slurm's topology.conf (topology/tree), or give ibnetdiscover's output"},
    OtherFormat{"[cluster]", "a scenario of stepcast", "stepcast topology show FILE shows its cluster"},
    OtherFormat{"[graph", "a node or fabric file of stepcast already",
                "stepcast topology show FILE shows it"},
    OtherFormat{"[nvlink]", "a node file of stepcast already", "stepcast topology show FILE shows it"},
};

}  // namespace

void refuse_other_format(const SourceText& text) {
  for (const OtherFormat& format : other_formats) {
    for (std::size_t line = 0; line < text.lines().size(); ++line) {
      std::string content = text.lines()[line];
      std::size_t columns = 0;  // `column -t` spreads blanks
      while ((columns = content.find("  ")) != std::string::npos) content.erase(columns, 1);
      const bool inside = format.mark[0] == ' ' && content.find(format.mark) != std::string::npos;
      if (!inside && !trim(content).starts_with(format.mark)) continue;
      throw ScenarioError(
          Diagnostic{text.place(line), "this is " + std::string(format.what), format.instead});
    }
  }
  throw ScenarioError(
      Diagnostic{text.whole(), "what this file is can't be told from its content", importable_formats});
}

}  // namespace stepcast
