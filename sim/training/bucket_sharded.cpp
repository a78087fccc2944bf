#include <cmath>
#include <string>

#include "sim/training/reducer.hpp"
#include "sim/training/strategies.hpp"

namespace stepcast {

/// stepcast-trainer's zero1 and zero2: DDP's buckets, reduce-scattered instead of all-reduced. Each rank owns
/// an equal slice of every bucket, updates it, and the buckets are all-gathered in the order in which the
/// next forward needs them. zero1 reduces in synchronised micro-batches only; zero2 in every one, adding
/// slices up. See docs/strategies.md.
TaskId plan_bucket_sharded(StepContext& context) {
  StepBuilder& builder = context.builder;
  const TrainingSection& training = context.training;
  const bool zero2 = training.strategy == Strategy::zero2;
  const int stream = builder.add_stream("nccl");
  const int communicator = builder.add_communicator("data_parallel", context.world_group());
  Reducer reducer(context, Operation::reduce_scatter, stream, communicator);
  const double gradient = element_size(training.gradient_dtype);
  double slice = 0;
  for (const Bucket& bucket : reducer.buckets()) {
    slice += bucket.size / element_size(training.reduce_dtype) / context.world;
  }
  StepInput input(context);
  for (int m = 0; m < context.planned_micro_batches; ++m) {
    input.begin_micro_batch(m);
    const bool synchronise = zero2 || context.synchronises(m);
    context.layers.accumulate(!zero2 && m > 0);
    forward_pass(context);
    reducer.backward(synchronise);
    if (!synchronise) continue;
    reducer.wait_for_buckets();
    if (zero2 && m > 0) {
      builder.compute(TaskRole::copy, context.copy_work("add slices", 3 * gradient * slice,
                                                        static_cast<int>(reducer.buckets().size())));
    }
  }
  builder.end_micro_batches();
  optimizer_step(context, slice, static_cast<int>(reducer.buckets().size()), gradient);
  TaskId end = builder.event();
  const double ratio = element_size(training.parameter_dtype) / element_size(training.reduce_dtype);
  for (std::size_t b = reducer.buckets().size(); b-- > 0;) {
    end = builder.collective(stream, communicator, Operation::all_gather,
                             Bytes(ratio * reducer.buckets()[b].size), {end},
                             "parameters of bucket " + std::to_string(b));
  }
  if (!keeps_narrow_weights(training)) return end;
  builder.wait(end);
  narrow_weights(context);
  return builder.event();
}

}  // namespace stepcast
