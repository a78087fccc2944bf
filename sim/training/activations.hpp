#pragma once

#include <vector>

#include "sim/training/plan.hpp"

namespace stepcast {

/// Activations of one micro-batch on one GPU, in bytes (facts 5.1).
struct ActivationMemory {
  std::vector<double> kept;  ///< of each layer from its forward to its backward, as checkpointing leaves it
  std::vector<double> recreated;  ///< what recomputation brings back while the layer's backward runs
  std::vector<double>
      gradients;             ///< of activations while the layer's backward runs: its output's and its input's
  double logits_gradient{};  ///< at the start of backward

  /// Kept of layers 0 .. layer.
  [[nodiscard]] double kept_through(std::size_t layer) const;
};

/// Between the eager and the fused set of saved tensors by the software's fusion; score matrices when
/// attention runs unfused; the head's by fused_cross_entropy (unfused: about 6 bytes a logit, and the fp32
/// gradient in backward). Measured layers say their bytes themselves.
[[nodiscard]] ActivationMemory activation_memory(const PlanInputs& inputs);

}  // namespace stepcast
