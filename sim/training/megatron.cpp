#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "sim/training/buckets.hpp"
#include "sim/training/strategies.hpp"

namespace stepcast {
namespace {

/// Gradients live in one contiguous buffer, laid out in reverse registration order and cut into buckets; the
/// wgrad product adds to it directly, so that there are no copies. Without overlap_grad_reduce it is one
/// bucket (facts 4.1).
class GradientBuffer {
 public:
  GradientBuffer(StepContext& context, Operation operation, int stream, int communicator)
      : context_(context), operation_(operation), stream_(stream), communicator_(communicator) {
    std::vector<double> elements;
    for (auto parameter = context.parameters.rbegin(); parameter != context.parameters.rend(); ++parameter) {
      elements.push_back(parameter->elements);
    }
    const double by_ranks = std::max(40e6, 1e6 * context.world);
    const double limit = context.training.overlap_grad_reduce
                             ? context.training.ddp_bucket_elements.value_or(by_ranks)
                             : std::numeric_limits<double>::infinity();
    buckets_ = megatron_buckets(elements, limit, context.world, operation == Operation::reduce_scatter);
    for (std::size_t b = 0; b < buckets_.size(); ++b) {
      for (int& item : buckets_[b].items) {
        item = static_cast<int>(context.parameters.size()) - 1 - item;
      }
    }
  }

  [[nodiscard]] const std::vector<Bucket>& buckets() const { return buckets_; }
  [[nodiscard]] double elements() const {
    double sum = 0;
    for (const Bucket& bucket : buckets_) sum += bucket.size;
    return sum;
  }

  void backward(bool synchronise) {
    launched_.clear();
    if (!synchronise || !context_.training.overlap_grad_reduce) {
      backward_pass(context_);
      return;
    }
    std::vector<int> pending, bucket_of(context_.parameters.size());
    for (std::size_t b = 0; b < buckets_.size(); ++b) {
      pending.push_back(static_cast<int>(buckets_[b].items.size()));
      for (const int item : buckets_[b].items)
        bucket_of[static_cast<std::size_t>(item)] = static_cast<int>(b);
    }
    backward_pass(context_, [&](int parameter) {
      const auto bucket = static_cast<std::size_t>(bucket_of[static_cast<std::size_t>(parameter)]);
      if (--pending[bucket] == 0) launch(bucket);
    });
  }

  /// After the schedule (finalize_model_grads): what is not launched yet is, and all are waited for.
  void finish() {
    if (launched_.empty()) {
      for (std::size_t b = 0; b < buckets_.size(); ++b) launch(b);
    }
    for (const TaskId bucket : launched_) context_.builder.wait(bucket);
  }

 private:
  void launch(std::size_t bucket) {
    const double elements = buckets_[bucket].size;
    const double gradient = element_size(context_.training.gradient_dtype);
    context_.builder.compute(TaskRole::copy,
                             context_.copy_work("scale gradients", 2 * gradient * elements, 1));
    launched_.push_back(context_.builder.collective(
        stream_, communicator_, operation_, Bytes(element_size(context_.training.reduce_dtype) * elements),
        {context_.builder.event()}, "gradient bucket " + std::to_string(bucket)));
  }

  StepContext& context_;
  Operation operation_;
  int stream_, communicator_;
  std::vector<Bucket> buckets_;
  std::vector<TaskId> launched_;
};

/// Norm of the gradients for clipping, which Megatron reads on the host. Sharded gradients need a tiny
/// all-reduce.
void clip_gradients(StepContext& context, int stream, int communicator, double elements, bool sharded) {
  StepBuilder& builder = context.builder;
  builder.compute(
      TaskRole::optimizer,
      context.copy_work("gradient norm", element_size(context.training.gradient_dtype) * elements, 2));
  TaskId known = builder.event();
  if (sharded) {
    known =
        builder.collective(stream, communicator, Operation::all_reduce, Bytes(4), {known}, "gradient norm");
    builder.wait(known);
  }
  builder.host_wait({known}, Seconds(0), "read norm");
}

/// Forward of the first micro-batch under overlap_param_gather: the first user of a bucket waits for its
/// all-gather and dispatches the next one, so that at most one runs ahead (facts 4.1, 12.8).
class ParameterGather {
 public:
  ParameterGather(StepContext& context, const GradientBuffer& buffer, int stream, int communicator)
      : context_(context), stream_(stream), communicator_(communicator) {
    // The buffer runs backwards, the forward needs its last bucket first.
    for (auto bucket = buffer.buckets().rbegin(); bucket != buffer.buckets().rend(); ++bucket) {
      const int first = *std::min_element(bucket->items.begin(), bucket->items.end());
      gathers_.push_back({context.parameters[static_cast<std::size_t>(first)].layer,
                          element_size(context.training.parameter_dtype) * bucket->size});
    }
  }

  void forward() {
    std::size_t finished = 0;
    TaskId next = dispatch(0);
    for (int layer = 0; layer < context_.layer_count; ++layer) {
      while (finished < gathers_.size() && gathers_[finished].first_layer <= layer) {
        const TaskId arrived = next;
        ++finished;
        next = dispatch(finished);
        context_.builder.wait(arrived);
      }
      context_.builder.compute(TaskRole::forward, context_.layers.forward(layer), layer);
    }
  }

 private:
  struct Gather {
    int first_layer{};
    double bytes{};
  };

  TaskId dispatch(std::size_t index) {
    if (index >= gathers_.size()) return {};
    return context_.builder.collective(stream_, communicator_, Operation::all_gather,
                                       Bytes(gathers_[index].bytes),
                                       {StepBuilder::previous_step(), context_.builder.event()},
                                       "parameter bucket " + std::to_string(index));
  }

  StepContext& context_;
  int stream_, communicator_;
  std::vector<Gather> gathers_;
};

}  // namespace

TaskId plan_megatron_data_parallel(StepContext& context) {
  StepBuilder& builder = context.builder;
  const int stream = builder.add_stream("nccl");
  const int communicator = builder.add_communicator("data_parallel", context.world_group());
  GradientBuffer buffer(context, Operation::all_reduce, stream, communicator);
  StepInput input(context);
  // main_grad is zeroed once a step and always added to.
  context.layers.accumulate(true);
  for (int m = 0; m < context.planned_micro_batches; ++m) {
    input.begin_micro_batch(m);
    forward_pass(context);
    buffer.backward(context.synchronises(m));
    if (context.synchronises(m)) buffer.finish();
  }
  builder.end_micro_batches();
  clip_gradients(context, stream, communicator, context.total_elements, false);
  optimizer_step(context, context.total_elements, static_cast<int>(context.parameters.size()),
                 element_size(context.training.gradient_dtype));
  return builder.event();
}

TaskId plan_megatron_distributed_optimizer(StepContext& context) {
  StepBuilder& builder = context.builder;
  const int stream = builder.add_stream("nccl");
  const int communicator = builder.add_communicator("data_parallel", context.world_group());
  GradientBuffer buffer(context, Operation::reduce_scatter, stream, communicator);
  ParameterGather gather(context, buffer, stream, communicator);
  StepInput input(context);
  context.layers.accumulate(true);
  const bool overlapped_gather = context.training.overlap_param_gather;
  for (int m = 0; m < context.planned_micro_batches; ++m) {
    input.begin_micro_batch(m);
    if (overlapped_gather && m == 0) {
      gather.forward();
    } else {
      forward_pass(context);
    }
    buffer.backward(context.synchronises(m));
    if (context.synchronises(m)) buffer.finish();
  }
  builder.end_micro_batches();
  const double shard = buffer.elements() / context.world;
  clip_gradients(context, stream, communicator, shard, true);
  optimizer_step(context, shard, static_cast<int>(context.parameters.size()),
                 element_size(context.training.gradient_dtype));
  TaskId end = builder.event();
  if (overlapped_gather) return end;
  const double size = element_size(context.training.parameter_dtype);
  for (const Bucket& bucket : buffer.buckets()) {
    end = builder.collective(stream, communicator, Operation::all_gather, Bytes(size * bucket.size), {end},
                             "parameters");
  }
  return end;
}

}  // namespace stepcast
