#include "sim/training/plan.hpp"

#include <deque>
#include <memory>
#include <stdexcept>
#include <string>

#include "base/diagnostic.hpp"
#include "sim/training/memory_of_step.hpp"
#include "sim/training/strategies.hpp"

namespace stepcast {
namespace {

TaskId plan_tasks(StepContext& context) {
  const Method method = method_of(context.training);
  if (context.world == 1 && method != Method::fully_sharded) return plan_single_rank(context);
  switch (method) {
    case Method::reducer:
      return plan_ddp(context);
    case Method::zero_redundancy:
      return plan_zero_redundancy_optimizer(context);
    case Method::deepspeed_all_reduce:
      return plan_deepspeed_all_reduce(context);
    case Method::deepspeed_partitioned:
      return plan_deepspeed_partitioned(context);
    case Method::deepspeed_stage3:
      return plan_deepspeed_stage3(context);
    case Method::megatron_data_parallel:
      return plan_megatron_data_parallel(context);
    case Method::megatron_distributed_optimizer:
      return plan_megatron_distributed_optimizer(context);
    case Method::fully_sharded:
      return is_own_trainer(context.training) ? plan_one_stream_sharded(context)
                                              : plan_fully_sharded(context);
    case Method::bucket_sharded:
      return plan_bucket_sharded(context);
  }
  throw InternalError(__FILE__, __LINE__, "a method without a plan");
}

/// Products that checkpointing repeats for one sample.
Flop recomputed_flops(const Model& model, Recompute mode) {
  Flop repeated;
  for (const Layer& layer : model.layers) {
    if (!checkpointed(layer)) continue;
    for (const Operator& op : layer.operators) {
      if (is_recomputed(op, mode)) repeated += forward_flops(op);
    }
  }
  return repeated;
}

std::vector<std::string> notes_of(const Scenario& scenario) {
  std::vector<std::string> notes;
  const StateLayout layout = state_layout(scenario);
  const std::string ranks = std::to_string(layout.optimizer_shards);
  if (layout.optimizer_shards > 1) {
    notes.push_back("the optimizer updates 1/" + ranks +
                    " of the parameters on each GPU: that work shrinks as ranks are added");
  }
  if (method_of(scenario.training) == Method::fully_sharded && layout.parameter_shards > 1) {
    notes.push_back("casts and copies of each GPU's shard (1/" + ranks + ") shrink as ranks are added");
  }
  return notes;
}

}  // namespace

StepPlan plan_step(const PlanInputs& inputs, const PlanOptions& options) {
  StepContext context(inputs, options);
  StepPlan plan;
  const TaskId end = plan_tasks(context);
  (void)context.builder.event();  // nothing stays open
  std::vector<std::unique_ptr<StepContext>> others;
  std::vector<const StepBuilder*> builders;
  std::deque<PlanInputs> inputs_of_kind;
  for (std::size_t kind = 1; kind < inputs.kinds.size(); ++kind) {
    inputs_of_kind.push_back(
        {inputs.scenario, inputs.model, inputs.profile, *inputs.kinds[kind].cost, inputs.collectives});
    others.push_back(std::make_unique<StepContext>(inputs_of_kind.back(), options));
    (void)plan_tasks(*others.back());
    (void)others.back()->builder.event();
    if (!context.builder.same_tasks(others.back()->builder))
      throw std::invalid_argument(inputs.cost.gpu().name + " and " + inputs.kinds[kind].cost->gpu().name +
                                  " do not run the same sequence of kernels in " +
                                  std::string(name_of(inputs.scenario.training.precision)) +
                                  ": choose a precision that both have");
    builders.push_back(&others.back()->builder);
  }
  plan.program = context.builder.finish(end, context.repeated_micro_batches, builders);
  plan.memory = memory_of_step(context);
  const auto samples = static_cast<double>(inputs.scenario.global_batch_size());
  plan.model_flops = samples * (forward_flops(inputs.model) + backward_flops(inputs.model));
  plan.hardware_flops =
      plan.model_flops + samples * recomputed_flops(inputs.model, recompute_of(inputs.scenario.training));
  plan.notes = notes_of(inputs.scenario);
  return plan;
}

}  // namespace stepcast
