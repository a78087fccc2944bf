#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "calibrate/measure/measurement.hpp"

namespace stepcast {

/// Memory of the operands of one measurement: what kernels only read, what they write, and what is sent.
struct OperandSizes {
  Bytes inputs, results, buffers;
  [[nodiscard]] Bytes sum() const { return inputs + results + buffers; }
  void raise_to(const OperandSizes& other);  ///< the larger of each
};
/// One set, on each rank. Attention keeps for its backward what `device` says, or its score matrices where
/// there is no device yet (plans).
[[nodiscard]] OperandSizes operand_sizes(const Measurement& what, const ComputeDevice* device = nullptr);

/// What a Workbench for measurements with such operands takes. Operand sets are rotated through at least
/// 64 MiB on a host, more than its cores' own caches, and 1 GiB on a GPU.
[[nodiscard]] Bytes workbench_memory(const OperandSizes& largest, const DeviceFacts& device);

/// Operands in a device's memory, random where they are read, and calls on them. Each call works on the next
/// of several sets, so that caches are no warmer than in training, where most of a step lies between two uses
/// of a tensor.
class Workbench {
 public:
  Workbench(ComputeDevice& device, const OperandSizes& largest);

  /// Of gemm, attention, kernel, launch, overlap and sustained: each call of the result issues the kernel
  /// once, on the next set, until the next prepare().
  [[nodiscard]] std::function<void()> prepare(const Measurement& what);
  /// Of a collective on `ranks` ranks, or of an overlap's: the request's sizes fit `what.bytes`, rounded up
  /// to whole elements a rank.
  [[nodiscard]] CollectiveRequest request(const Measurement& what);

 private:
  void fill_inputs(Dtype type);
  void prepare_ids(const Measurement& what);

  ComputeDevice& device_;
  OperandSizes sizes_;
  std::shared_ptr<void> inputs_, results_, ids_, buffers_;
  std::optional<Dtype> filled_with_;  ///< the inputs
};

}  // namespace stepcast
