#pragma once

#include <string>

#include "base/units.hpp"

namespace stepcast {

/// Per-GPU memory of one step by the design's definitions (6.3). The six parts and the slack add up to peak.
struct MemoryReport {
  Bytes parameters, gradients,
      optimizer;        ///< model states held for the whole step, sharded as the strategy shards
  Bytes activations;    ///< kept for backward, and logits, at the peak
  Bytes buffers;        ///< buckets, gathered units, reduce-scatter inputs, temporaries at the peak
  Bytes slack;          ///< reserved by the caching allocator beyond the allocated peak
  Bytes framework;      ///< CUDA context and NCCL: not seen by the allocator
  Bytes capacity;       ///< what the driver offers
  std::string peak_at;  ///< "start of backward (logits)", "backward of model.layers.31", ...

  [[nodiscard]] Bytes allocated_peak() const {
    return parameters + gradients + optimizer + activations + buffers;
  }
  [[nodiscard]] Bytes reserved() const { return allocated_peak() + slack; }
  [[nodiscard]] Bytes peak() const { return reserved() + framework; }
  [[nodiscard]] bool fits() const { return allocated_peak() + framework <= capacity; }
};

}  // namespace stepcast
