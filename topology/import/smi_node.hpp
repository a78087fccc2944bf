#pragma once

#include "topology/import/node_draft.hpp"
#include "topology/import/smi_matrix.hpp"

namespace stepcast {

/// The machine that the table describes.
///
/// PIX: one PCIe switch for all that are PIX to each other. PXB: such switches (and single devices, each
/// beneath one of its own) under a common one. PHB, NODE: straight on the host of the NUMA node. SYS: hosts
/// of their own. Which GPUs share a NUMA node is told by their affinity, since NVLink hides their PCIe
/// relation.
[[nodiscard]] NodeDraft node_of(const SmiMatrix& matrix, const SourcePlace& file);

}  // namespace stepcast
