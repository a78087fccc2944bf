#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "calibrate/trainer/strategy.hpp"

namespace stepcast {

/// DDP's buckets laid out one after the other in a flat array of elements; parameters, gradients and
/// optimizer states share the layout.
struct BucketLayout {
  std::vector<std::int64_t> starts;    ///< of each bucket
  std::vector<std::int64_t> elements;  ///< of each bucket, padded to a multiple of `slices`
  std::vector<int> bucket_of;          ///< of each parameter
  std::vector<std::int64_t> offsets;   ///< of each parameter
  int slices{1};

  [[nodiscard]] std::size_t size() const { return starts.size(); }
  [[nodiscard]] std::int64_t total() const { return starts.empty() ? 0 : starts.back() + elements.back(); }
  [[nodiscard]] Tensor bucket(Tensor flat, std::size_t b) const { return flat.part(starts[b], elements[b]); }
  /// Part of the bucket that belongs to a rank.
  [[nodiscard]] Tensor slice(Tensor flat, std::size_t b, int rank) const {
    return flat.part(starts[b] + rank * (elements[b] / slices), elements[b] / slices);
  }
  /// Of a flat array that holds one rank's slices only.
  [[nodiscard]] Tensor own(Tensor slices_only, std::size_t b) const {
    return slices_only.part(starts[b] / slices, elements[b] / slices);
  }
};

[[nodiscard]] BucketLayout bucket_layout(const StrategyInputs& inputs, int slices);

/// Uploads every parameter's starting values into a flat array and its copy in the compute type, and points
/// the views there.
void place_weights(const StrategyInputs& inputs, const BucketLayout& layout, Tensor flat, Tensor compute);
void place_gradients(const StrategyInputs& inputs, const BucketLayout& layout, Tensor flat);

/// Torch's reducer: gradients are copied, scaled, into their buckets as they become ready; complete buckets
/// are launched in index order.
class GradientBuckets {
 public:
  /// @param flat  memory of the buckets; a gradient that lies there already is scaled in place
  GradientBuckets(const StrategyInputs& inputs, const BucketLayout& layout, Tensor flat,
                  DeviceCommunicator& communicator)
      : inputs_(inputs), layout_(layout), flat_(flat), communicator_(communicator) {}

  using Output = std::function<Tensor(std::size_t bucket)>;
  /// A backward begins, whose buckets are reduced by this operation; reduced to `output`.
  void begin(Operation operation, Output output);
  void ready(int parameter);
  void wait(std::size_t bucket);

 private:
  const StrategyInputs inputs_;
  const BucketLayout& layout_;
  Tensor flat_;
  DeviceCommunicator& communicator_;
  Operation operation_{};
  Output output_;
  std::vector<int> pending_;  ///< parameters that each bucket misses
  std::vector<DeviceCommunicator::Ticket> launched_;
};

}  // namespace stepcast
