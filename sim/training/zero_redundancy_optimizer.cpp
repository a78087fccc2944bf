#include <algorithm>
#include <vector>

#include "sim/training/ddp.hpp"
#include "sim/training/strategies.hpp"

namespace stepcast {

/// torch.distributed.optim.ZeroRedundancyOptimizer with its defaults: gradients as DDP has them; each rank
/// updates its own parameters (greedy, largest first) and every owner broadcasts each of them, rank by rank,
/// without waiting between. Source: torch/distributed/optim/zero_redundancy_optimizer.py, step and
/// _sync_params (parameters_as_bucket_view=False).
TaskId plan_zero_redundancy_optimizer(StepContext& context) {
  StepBuilder& builder = context.builder;
  const int stream = builder.add_stream("nccl");
  const int communicator = builder.add_communicator("data_parallel", context.world_group());
  plan_ddp_gradients(context, stream, communicator);

  std::vector<double> sizes;
  for (const ParameterRef& parameter : context.parameters) sizes.push_back(parameter.elements);
  const std::vector<int> owner = greedy_partition(sizes, context.world);
  std::vector<double> elements(static_cast<std::size_t>(context.world));
  std::vector<int> tensors(static_cast<std::size_t>(context.world));
  for (std::size_t p = 0; p < sizes.size(); ++p) {
    elements[static_cast<std::size_t>(owner[p])] += sizes[p];
    ++tensors[static_cast<std::size_t>(owner[p])];
  }
  // Every rank takes part in every broadcast, so the one with the largest share sets the pace of all.
  const auto largest = std::max_element(elements.begin(), elements.end()) - elements.begin();
  optimizer_step(context, elements[static_cast<std::size_t>(largest)],
                 tensors[static_cast<std::size_t>(largest)], element_size(context.training.gradient_dtype));
  const TaskId updated = builder.event();
  TaskId last = updated;
  const double bytes = element_size(context.training.parameter_dtype);
  for (int rank = 0; rank < context.world; ++rank) {
    for (std::size_t p = 0; p < sizes.size(); ++p) {
      if (owner[p] != rank) continue;
      last = builder.collective(stream, communicator, Operation::broadcast, Bytes(bytes * sizes[p]),
                                {updated}, "parameters of a rank", context.parameters[p].layer);
    }
  }
  return last;
}

}  // namespace stepcast
