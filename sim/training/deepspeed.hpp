#pragma once

#include <vector>

#include "sim/training/schedule.hpp"

namespace stepcast {

/// What the CPU learns before a DeepSpeed step: gradients are checked for overflow and their norm is taken,
/// each with a tiny all-reduce over the sharded pieces, and the host reads the result (facts 3.2).
/// @param elements  of the gradients that this rank looks at
void deepspeed_overflow_and_norm(StepContext& context, int stream, int communicator, double elements,
                                 bool sharded);

/// fp32 copies of the 16-bit gradients, the update, and the weights back to 16 bits.
void deepspeed_update(StepContext& context, double elements, int tensors);

/// Gradients that a pass over the model copies into ipg buckets, in the order in which they come.
class IpgOrder {
 public:
  IpgOrder(const StepContext& context, std::vector<int> order);
  [[nodiscard]] std::size_t bucket_count() const { return bucket_elements_.size(); }
  [[nodiscard]] int bucket_of(int parameter) const { return bucket_of_[static_cast<std::size_t>(parameter)]; }
  [[nodiscard]] double elements(std::size_t bucket) const { return bucket_elements_[bucket]; }
  [[nodiscard]] bool alone(std::size_t bucket) const { return alone_[bucket]; }
  [[nodiscard]] int tensors(std::size_t bucket) const { return tensors_[bucket]; }

 private:
  std::vector<int> bucket_of_, tensors_;
  std::vector<double> bucket_elements_;
  std::vector<bool> alone_;
};

}  // namespace stepcast
