#pragma once

#include <vector>

#include "sim/training/buckets.hpp"
#include "sim/training/schedule.hpp"

namespace stepcast {

/// Buckets of torch DDP's reducer in the steady state, and the backward that launches their collectives
/// (facts 1.2, 1.3). stepcast-trainer's zero1 and zero2 use the same buckets with reduce-scatters.
class Reducer {
 public:
  /// @param operation  all_reduce or reduce_scatter
  Reducer(StepContext& context, Operation operation, int stream, int communicator);

  /// One whole backward pass. With `synchronise` each gradient is copied into its bucket, and complete
  /// buckets are launched in index order; a bucket that is complete ahead of its predecessors waits for them.
  void backward(bool synchronise);
  /// The compute stream waits for every bucket; gradients are copied back unless they are views of the
  /// buckets.
  void wait_for_buckets();

  /// In the order of launch; items are indices into StepContext::parameters, sizes are bytes of the wire
  /// type.
  [[nodiscard]] const std::vector<Bucket>& buckets() const { return buckets_; }
  /// The launched collectives of the last backward.
  [[nodiscard]] const std::vector<TaskId>& launched() const { return launched_; }

 private:
  void form_buckets();
  void launch_complete_buckets();
  void copy_into_buckets();
  void copy_back(double elements, int tensors);

  StepContext& context_;
  Operation operation_;
  int stream_, communicator_;
  double gradient_bytes_, wire_bytes_;
  std::vector<int> ready_order_;
  std::vector<Bucket> buckets_;
  std::vector<int> bucket_of_;  // of each parameter
  std::vector<int> pending_;    // parameters missing in each bucket
  std::size_t next_bucket_{};
  double ready_elements_{};  // in no bucket yet
  int ready_tensors_{};
  std::vector<TaskId> launched_;
};

/// Parameters in the order in which their gradients are ready: autograd runs the operators in reverse.
[[nodiscard]] std::vector<int> ready_order(StepContext& context);

}  // namespace stepcast
