#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <utility>

#include "sim/validate/map_row.hpp"

namespace stepcast {

using Cells = std::initializer_list<std::pair<std::string, std::string>>;

/// A row that says all: MPT-1b with FSDP on two nodes of eight A100, 8 sequences of 2048 tokens a GPU, at
/// 10,000 tokens a second and GPU. `changes` replaces cells.
inline MeasuredRow example_row(Cells changes = {}) {
  MeasuredRow row;
  row.file = "t.csv";
  row.line = 7;
  row.cells = {{"source", "an author"},
               {"gpu", "A100-80GB"},
               {"gpus_total", "16"},
               {"gpus_per_node", "8"},
               {"intra_node_link", "NVSwitch"},
               {"inter_node_link", "RoCE 1600 Gbps per node"},
               {"inter_node_gbps_per_gpu", "200"},
               {"model", "MPT-1b"},
               {"params_b", "1.3"},
               {"layers", "24"},
               {"hidden", "2048"},
               {"heads", "16"},
               {"kv_heads", "16"},
               {"ffn_hidden", "8192"},
               {"vocab", "50368"},
               {"seq_len", "2048"},
               {"framework", "Composer/llm-foundry (PyTorch FSDP)"},
               {"parallelism", "FSDP"},
               {"zero_stage_or_sharding", "FULL_SHARD"},
               {"micro_batch_per_gpu", "8"},
               {"grad_accum", "1"},
               {"global_batch_sequences", "128"},
               {"precision", "amp_bf16"},
               {"activation_checkpoint", "none"},
               {"attention_kernel", "flash"},
               {"offload", "none"},
               {"metric_name", "tokens_per_s_per_gpu"},
               {"metric_value", "10000"},
               {"metric_unit", "tokens/s/GPU"}};
  for (const auto& [column, text] : changes) row.cells[column] = text;
  return row;
}

inline MappedRow mapped(Cells changes = {}) { return map_row(example_row(changes), Mapping::shipped()); }

/// The reason why the changed row is skipped.
inline std::string reason(Cells changes) {
  try {
    (void)mapped(changes);
  } catch (const SkippedRow& skipped) {
    return skipped.reason;
  }
  ADD_FAILURE() << "the row is not skipped";
  return "";
}

/// A setting of the scenario as text; "" when it is not set.
inline std::string setting(const MappedRow& row, const std::string& key) {
  for (const auto& [name, value] : settings_of(row.scenario)) {
    if (name == key) return value.to_text();
  }
  return "";
}

}  // namespace stepcast
