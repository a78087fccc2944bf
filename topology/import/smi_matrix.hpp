#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "topology/import/source_text.hpp"

namespace stepcast {

/// How two devices are joined, nearest first.
enum class Relation { self, nvlink, pix, pxb, phb, node, sys };

struct MatrixCell {
  Relation relation{};
  int nvlinks{};  ///< of "NV18"
  SourcePlace place;
  std::string text;
};

/// The table that `nvidia-smi topo -m` prints: GPUs first, by number, then network cards in its order.
struct SmiMatrix {
  std::vector<std::string> labels;
  int gpus{};
  std::vector<std::vector<std::optional<MatrixCell>>> cells;
  std::vector<std::string> cpu_affinity, numa_affinity;  ///< by device; "" where the table says nothing
  std::map<std::string, std::string> card_names;         ///< "NIC0" -> "mlx5_0"
  std::vector<std::string> notes;

  [[nodiscard]] const std::optional<MatrixCell>& at(int a, int b) const {
    return cells[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)];
  }
  [[nodiscard]] int size() const { return static_cast<int>(labels.size()); }
};

/// True for a line that can head such a table: labels of GPUs, no relations.
[[nodiscard]] bool is_smi_header(const std::string& line);

/// Rows are placed by their label; a row that is missing is completed from the others by symmetry.
/// @throws ScenarioError with every fault: no table, unknown words, rows that are cut off, entries that
/// contradict each other, GPUs of which too little is there
[[nodiscard]] SmiMatrix read_smi_matrix(const SourceText& text);

}  // namespace stepcast
