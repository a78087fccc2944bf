#include "sim/training/ddp.hpp"

#include <cmath>

#include "sim/training/strategies.hpp"

namespace stepcast {
namespace {

/// Rank 0's module buffers (BatchNorm statistics) go to all: coalesced, in pieces of 250 MiB, before the
/// forward runs. Source: torch/nn/parallel/distributed.py, broadcast_bucket_size.
void broadcast_buffers(StepContext& context, int stream, int communicator) {
  double bytes = 0;
  int holders = 0;
  for (const Layer& layer : context.model.layers) {
    bytes += layer.buffers.value;
    holders += layer.buffers.value > 0 ? 1 : 0;
  }
  if (bytes <= 0) return;
  constexpr double piece = 250.0 * 1024 * 1024;
  StepBuilder& builder = context.builder;
  const int pieces = static_cast<int>(std::ceil(bytes / piece));
  builder.compute(TaskRole::forward, context.copy_work("flatten buffers", 2 * bytes, pieces));
  TaskId last;
  for (int i = 0; i < pieces; ++i) {
    last = builder.collective(stream, communicator, Operation::broadcast, Bytes(bytes / pieces),
                              {builder.event()}, "buffers");
  }
  builder.wait(last);
  builder.compute(TaskRole::forward, context.copy_work("buffers back", 2 * bytes, holders));
}

}  // namespace

void plan_ddp_gradients(StepContext& context, int stream, int communicator) {
  StepBuilder& builder = context.builder;
  Reducer reducer(context, Operation::all_reduce, stream, communicator);
  StepInput input(context);
  // The last micro-batch of the step before always synchronised.
  bool buffers_due = true;
  const bool broadcasts = context.training.broadcast_buffers && !is_own_trainer(context.training);
  for (int m = 0; m < context.planned_micro_batches; ++m) {
    input.begin_micro_batch(m);
    if (broadcasts && buffers_due) broadcast_buffers(context, stream, communicator);
    buffers_due = context.synchronises(m);
    context.layers.accumulate(m > 0);
    forward_pass(context);
    reducer.backward(context.synchronises(m));
    if (!context.synchronises(m)) continue;
    if (context.training.find_unused_parameters) {
      // An int32 map with one element a parameter, after the last bucket; nobody waits for it unless one was
      // unused.
      builder.collective(stream, communicator, Operation::all_reduce,
                         Bytes(4.0 * static_cast<double>(context.parameters.size())), {builder.event()},
                         "unused map");
    }
    reducer.wait_for_buckets();
  }
  builder.end_micro_batches();
}

TaskId plan_ddp(StepContext& context) {
  const int stream = context.builder.add_stream("nccl");
  const int communicator = context.builder.add_communicator("data_parallel", context.world_group());
  plan_ddp_gradients(context, stream, communicator);
  optimizer_step(context, context.total_elements, static_cast<int>(context.parameters.size()),
                 element_size(context.training.gradient_dtype));
  narrow_weights(context);
  return context.builder.event();
}

TaskId plan_single_rank(StepContext& context) {
  StepInput input(context);
  for (int m = 0; m < context.planned_micro_batches; ++m) {
    input.begin_micro_batch(m);
    context.layers.accumulate(m > 0);
    forward_pass(context);
    backward_pass(context);
  }
  context.builder.end_micro_batches();
  optimizer_step(context, context.total_elements, static_cast<int>(context.parameters.size()),
                 element_size(context.training.gradient_dtype));
  narrow_weights(context);
  return context.builder.event();
}

}  // namespace stepcast
