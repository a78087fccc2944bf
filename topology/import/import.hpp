#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topology/import/settings.hpp"

namespace stepcast {

struct TopologyImport {
  std::string kind;     ///< "node" or "fabric"
  std::string format;   ///< "nvidia-smi topo -m"
  std::string summary;  ///< "8 GPUs, NVSwitch, 8 network cards, 2 NUMA nodes"
  std::string toml;     ///< the file; empty while there are questions
  std::vector<Question> questions;
  std::vector<std::string> notes;
};

/// Recognizes the text by its content and turns it into a node or fabric file: `nvidia-smi topo -m`, NCCL's
/// topology XML, `ibnetdiscover`, Slurm's topology.conf (tree).
/// @param file        the name that faults carry
/// @param known_gpus  GPU profiles that there are
/// @throws ScenarioError: a text that is none of these (saying what it is, where it is known), its own
/// faults, faulty settings
[[nodiscard]] TopologyImport import_topology(std::string_view text, const std::string& file,
                                             const std::vector<ImportSetting>& settings,
                                             const std::vector<std::string>& known_gpus);

}  // namespace stepcast
