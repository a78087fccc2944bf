#pragma once

#include "topology/import/source_text.hpp"

namespace stepcast {

inline constexpr const char* importable_formats =
    "topologies are read from: nvidia-smi topo -m, NCCL topology XML (NCCL_TOPO_DUMP_FILE), ibnetdiscover, "
    "Slurm's topology.conf with SwitchName";

/// Says what the text is, where it is known, and what to give instead.
[[noreturn]] void refuse_other_format(const SourceText& text);

}  // namespace stepcast
