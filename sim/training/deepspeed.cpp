#include "sim/training/deepspeed.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "sim/training/buckets.hpp"
#include "sim/training/reducer.hpp"
#include "sim/training/strategies.hpp"

namespace stepcast {

void deepspeed_overflow_and_norm(StepContext& context, int stream, int communicator, double elements,
                                 bool sharded) {
  StepBuilder& builder = context.builder;
  const double gradient = element_size(context.training.gradient_dtype);
  builder.compute(TaskRole::optimizer, context.copy_work("gradient norm", gradient * elements, 2));
  TaskId known = builder.event();
  if (sharded) {
    for (const char* what : {"overflow", "gradient norm"}) {
      known = builder.collective(stream, communicator, Operation::all_reduce, Bytes(4), {known}, what);
    }
    builder.wait(known);
  }
  builder.host_wait({known}, Seconds(0), "read norm");
}

void deepspeed_update(StepContext& context, double elements, int tensors) {
  const double gradient = element_size(context.training.gradient_dtype);
  StepBuilder& builder = context.builder;
  if (gradient < 4 && !context.model.measured) {
    builder.compute(TaskRole::optimizer,
                    context.copy_work("gradients to fp32", (gradient + 4) * elements, 1));
  }
  optimizer_step(context, elements, tensors, 4);
}

IpgOrder::IpgOrder(const StepContext& context, std::vector<int> order)
    : bucket_of_(context.parameters.size()) {
  std::vector<double> sizes;
  for (const int parameter : order) {
    sizes.push_back(context.parameters[static_cast<std::size_t>(parameter)].elements);
  }
  for (const Bucket& bucket : ipg_buckets(sizes, context.training.reduce_bucket_size)) {
    for (const int item : bucket.items) {
      bucket_of_[static_cast<std::size_t>(order[static_cast<std::size_t>(item)])] =
          static_cast<int>(bucket_elements_.size());
    }
    bucket_elements_.push_back(bucket.size);
    alone_.push_back(bucket.alone);
    tensors_.push_back(static_cast<int>(bucket.items.size()));
  }
}

namespace {

/// Buckets of stages 1 and 2: all-reduced despite their names (facts 3.2, 14.1), then each rank keeps its
/// slice.
class PartitionedReduction {
 public:
  PartitionedReduction(StepContext& context, int stream, int communicator, bool overlap, bool accumulate)
      : context_(context),
        stream_(stream),
        communicator_(communicator),
        overlap_(overlap),
        accumulate_(accumulate) {}

  /// Copies of what became ready since the last call.
  void copy(double elements, int tensors) {
    if (elements > 0) {
      context_.builder.compute(TaskRole::copy,
                               context_.copy_work("ipg copy", 2 * gradient() * elements, tensors));
    }
  }

  void reduce(double elements) {
    StepBuilder& builder = context_.builder;
    const double size = gradient();
    // Divide in place, flatten the slices of all owners together.
    const WorkId before = context_.copy_work("ipg divide and flatten", 4 * size * elements, 2);
    const double slice = elements / context_.world;
    const WorkId after =
        context_.copy_work("own slice", (accumulate_ ? 5 : 2) * size * slice, accumulate_ ? 2 : 1);
    const Bytes wire(element_size(context_.training.reduce_dtype) * elements);
    if (!overlap_) {
      builder.compute(TaskRole::copy, before);
      builder.wait(builder.collective(stream_, communicator_, Operation::all_reduce, wire, {builder.event()},
                                      "ipg bucket"));
      builder.compute(TaskRole::copy, after);
      last_ = builder.event();
      return;
    }
    // The reduction stream waits for the gradients, and the compute stream for all earlier reductions.
    const TaskId produced = builder.event();
    builder.wait(last_);
    builder.compute_on(stream_, TaskRole::copy, before, {produced}, "ipg divide and flatten");
    builder.collective(stream_, communicator_, Operation::all_reduce, wire, {}, "ipg bucket");
    last_ = builder.compute_on(stream_, TaskRole::copy, after, {}, "own slice");
  }

  /// With overlap the epilogue synchronises the device.
  void epilogue() {
    if (!overlap_) return;
    context_.builder.wait(last_);
    context_.builder.host_wait({context_.builder.event(), last_}, Seconds(0), "synchronise");
    last_ = {};
  }

 private:
  [[nodiscard]] double gradient() const { return element_size(context_.training.gradient_dtype); }

  StepContext& context_;
  int stream_, communicator_;
  bool overlap_, accumulate_;
  TaskId last_;
};

/// Backward whose hooks fill buckets and reduce each before the gradient that would overfill it.
void backward_with_hooks(StepContext& context, const IpgOrder& order, PartitionedReduction& reduction) {
  int open_bucket = -1;
  double elements = 0;
  int tensors = 0;
  const auto flush_copies = [&] { reduction.copy(std::exchange(elements, 0), std::exchange(tensors, 0)); };
  const auto reduce = [&](int bucket) {
    flush_copies();
    reduction.reduce(order.elements(static_cast<std::size_t>(bucket)));
  };
  backward_pass(context, [&](int parameter) {
    const int bucket = order.bucket_of(parameter);
    if (open_bucket >= 0 && bucket != open_bucket) reduce(open_bucket);
    open_bucket = bucket;
    if (order.alone(static_cast<std::size_t>(bucket))) return;
    elements += context.parameters[static_cast<std::size_t>(parameter)].elements;
    ++tensors;
  });
  if (open_bucket >= 0) reduce(open_bucket);
  reduction.epilogue();
}

std::vector<int> registration_order(const StepContext& context) {
  std::vector<int> order(context.parameters.size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

}  // namespace

TaskId plan_deepspeed_partitioned(StepContext& context) {
  StepBuilder& builder = context.builder;
  const TrainingSection& training = context.training;
  const bool stage2 = training.strategy == Strategy::zero2;
  const bool overlap = training.overlap_comm.value_or(false);
  const int stream = builder.add_stream("reduction");
  const int communicator = builder.add_communicator("data_parallel", context.world_group());
  // Without overlap, stage 1 walks over the parameters after backward; hooks see them as they become ready.
  const bool hooks = stage2 || overlap;
  const IpgOrder order(context, hooks ? ready_order(context) : registration_order(context));
  StepInput input(context);
  for (int m = 0; m < context.planned_micro_batches; ++m) {
    input.begin_micro_batch(m);
    // Stage 2 frees what it has reduced, so that no backward finds older gradients.
    context.layers.accumulate(!stage2 && m > 0);
    forward_pass(context);
    if (!context.synchronises(m)) {  // stage 2 synchronises in every one: the scenario reader sees to it
      backward_pass(context);
      continue;
    }
    PartitionedReduction reduction(context, stream, communicator, overlap, stage2 && m > 0);
    if (hooks) {
      backward_with_hooks(context, order, reduction);
      continue;
    }
    backward_pass(context);
    for (std::size_t bucket = 0; bucket < order.bucket_count(); ++bucket) {
      if (!order.alone(bucket)) reduction.copy(order.elements(bucket), order.tensors(bucket));
      reduction.reduce(order.elements(bucket));
    }
  }
  builder.end_micro_batches();
  const double shard = std::ceil(context.total_elements / context.world);
  deepspeed_overflow_and_norm(context, stream, communicator, shard, true);
  deepspeed_update(context, shard, 1);
  // One call for the whole group of parameters: allgather_bucket_size is ignored on this path.
  const Bytes gathered(element_size(training.parameter_dtype) * shard * context.world);
  return builder.collective(stream, communicator, Operation::all_gather, gathered, {builder.event()},
                            "updated parameters");
}

TaskId plan_deepspeed_all_reduce(StepContext& context) {
  // deepspeed/runtime/engine.py, MEMORY_OPT_ALLREDUCE_SIZE: elements that are flattened and reduced at once.
  constexpr double flattened_elements = 5e8;
  StepBuilder& builder = context.builder;
  const int stream = builder.add_stream("nccl");
  const int communicator = builder.add_communicator("data_parallel", context.world_group());
  std::vector<BucketItem> items;
  for (const ParameterRef& parameter : context.parameters) items.push_back({parameter.elements, 0});
  const std::vector<Bucket> buckets = reducer_buckets(items, flattened_elements, flattened_elements);
  const double gradient = element_size(context.training.gradient_dtype);
  StepInput input(context);
  for (int m = 0; m < context.planned_micro_batches; ++m) {
    input.begin_micro_batch(m);
    context.layers.accumulate(m > 0);
    forward_pass(context);
    backward_pass(context);
    if (!context.synchronises(m)) continue;
    for (const Bucket& bucket : buckets) {
      builder.compute(TaskRole::copy, context.copy_work("flatten and divide", 4 * gradient * bucket.size, 2));
      builder.wait(builder.collective(stream, communicator, Operation::all_reduce,
                                      Bytes(element_size(context.training.reduce_dtype) * bucket.size),
                                      {builder.event()}, "gradients"));
      builder.compute(TaskRole::copy, context.copy_work("copy back", 2 * gradient * bucket.size,
                                                        static_cast<int>(bucket.items.size())));
    }
  }
  builder.end_micro_batches();
  deepspeed_overflow_and_norm(context, stream, communicator, context.total_elements, false);
  deepspeed_update(context, context.total_elements, static_cast<int>(context.parameters.size()));
  return builder.event();
}

}  // namespace stepcast
