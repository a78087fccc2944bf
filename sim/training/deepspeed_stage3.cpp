#include "sim/training/deepspeed_stage3.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <utility>

#include "sim/training/deepspeed.hpp"
#include "sim/training/strategies.hpp"

namespace stepcast {
namespace {

/// Index in StepContext::parameters of the weight that a tied head multiplies by: the largest of the
/// embeddings.
int tied_weight(const StepContext& context) {
  int largest = -1;
  for (std::size_t p = 0; p < context.parameters.size(); ++p) {
    const ParameterRef& parameter = context.parameters[p];
    if (context.model.layers[static_cast<std::size_t>(parameter.layer)].kind != LayerKind::embedding)
      continue;
    if (largest < 0 || parameter.elements > context.parameters[static_cast<std::size_t>(largest)].elements) {
      largest = static_cast<int>(p);
    }
  }
  return largest;
}

}  // namespace

Stage3Visits stage3_visits(StepContext& context) {
  Stage3Visits result;
  const int tied = context.model.tied_head ? tied_weight(context) : -1;
  const auto visit = [&](int layer, int module, ModulePass pass) {
    const std::vector<ModuleUse>& modules = context.layers.modules(layer);
    const int first = context.first_parameter[static_cast<std::size_t>(layer)];
    TracedUse use;
    for (const int index : modules[static_cast<std::size_t>(module)].parameters) {
      use.parameters.push_back(first + index);
    }
    const bool head = context.model.layers[static_cast<std::size_t>(layer)].kind == LayerKind::head;
    if (head && tied >= 0 && module + 1 == static_cast<int>(modules.size())) use.parameters.push_back(tied);
    result.visits.push_back({layer, module, pass});
    result.uses.push_back(std::move(use));
  };
  const auto count = [&](int layer) { return static_cast<int>(context.layers.modules(layer).size()); };
  for (int layer = 0; layer < context.layer_count; ++layer) {
    for (int module = 0; module < count(layer); ++module) visit(layer, module, ModulePass::forward);
  }
  const bool full = context.training.activation_checkpointing == Checkpointing::full;
  for (int layer = context.layer_count - 1; layer >= 0; --layer) {
    if (full && checkpointed(context.model.layers[static_cast<std::size_t>(layer)])) {
      for (int module = 0; module < count(layer); ++module) visit(layer, module, ModulePass::recompute);
    }
    for (int module = count(layer) - 1; module >= 0; --module) visit(layer, module, ModulePass::backward);
  }
  return result;
}

FetchTrace stage3_trace(StepContext& context, const Stage3Visits& visits) {
  std::vector<double> elements;
  for (const ParameterRef& parameter : context.parameters) elements.push_back(parameter.elements);
  FetchSettings settings;
  settings.prefetch_bucket = context.training.stage3_prefetch_bucket_size;
  settings.persistence_threshold = context.training.stage3_param_persistence_threshold;
  settings.max_live = context.training.stage3_max_live_parameters;
  settings.max_reuse_distance = context.training.stage3_max_reuse_distance;
  return trace_fetches(visits.uses, elements, settings);
}

namespace {

/// At most this many events are outstanding before the CPU waits for the oldest:
/// partitioned_param_coordinator.py (max_ongoing_fetch_events) and stage3.py (max_param_reduce_events).
constexpr std::size_t most_outstanding = 2;

/// The CPU's window over asynchronous work.
class Outstanding {
 public:
  explicit Outstanding(StepBuilder& builder) : builder_(builder) {}
  void make_room() {
    if (events_.size() <= most_outstanding) return;
    builder_.host_wait({events_.front()}, Seconds(0), "outstanding limit");
    events_.pop_front();
  }
  void add(TaskId event) {
    if (event.exists()) events_.push_back(event);
  }

 private:
  StepBuilder& builder_;
  std::deque<TaskId> events_;
};

class Stage3 {
 public:
  explicit Stage3(StepContext& context)
      : context_(context),
        builder_(context.builder),
        gather_stream_(builder_.add_stream("all-gather")),
        reduce_stream_(builder_.add_stream("reduce")),
        communicator_(builder_.add_communicator("data_parallel", context.world_group())),
        visits_(stage3_visits(context)),
        trace_(stage3_trace(context, visits_)),
        order_(context, gradient_order()),
        fetches_(builder_),
        reductions_(builder_) {}

  TaskId run() {
    StepInput input(context_);
    for (int m = 0; m < context_.planned_micro_batches; ++m) {
      input.begin_micro_batch(m);
      micro_batch(m);
    }
    builder_.end_micro_batches();
    return update();
  }

 private:
  /// Parameters by their first appearance in backward.
  [[nodiscard]] std::vector<int> gradient_order() {
    std::vector<int> order;
    std::vector<bool> seen(context_.parameters.size());
    for (const ModuleVisit& visit : visits_.visits) {
      if (visit.pass != ModulePass::backward) continue;
      for (const int parameter : own_parameters(visit)) {
        if (!seen[static_cast<std::size_t>(parameter)]) order.push_back(parameter);
        seen[static_cast<std::size_t>(parameter)] = true;
      }
    }
    return order;
  }

  /// In the order in which their gradients come.
  [[nodiscard]] std::vector<int> own_parameters(const ModuleVisit& visit) {
    const ModuleUse& use = context_.layers.modules(visit.layer)[static_cast<std::size_t>(visit.module)];
    std::vector<int> own;
    for (const int index : use.parameters) {
      own.push_back(context_.first_parameter[static_cast<std::size_t>(visit.layer)] + index);
    }
    std::reverse(own.begin(), own.end());
    return own;
  }

  [[nodiscard]] double padded(int parameter) const {
    const double elements = context_.parameters[static_cast<std::size_t>(parameter)].elements;
    return std::ceil(elements / context_.world) * context_.world;
  }

  TaskId issue(const FetchCall& call) {
    double elements = 0;
    for (const int parameter : call.parameters) elements += padded(parameter);
    const double size = element_size(context_.training.parameter_dtype);
    // The first gather of a step needs the updated shards; later ones find them long since written.
    TaskId gathered =
        builder_.collective(gather_stream_, communicator_, Operation::all_gather, Bytes(size * elements),
                            {StepBuilder::previous_step()}, "parameters");
    if (call.parameters.size() > 1) {
      // Slices of several parameters come interleaved by rank and are put together.
      gathered = builder_.compute_on(gather_stream_, TaskRole::copy,
                                     context_.copy_work("assemble parameters", 2 * size * elements,
                                                        static_cast<int>(call.parameters.size())),
                                     {}, "assemble parameters");
    }
    return gathered;
  }

  void micro_batch(int m) {
    std::vector<TaskId> calls(trace_.calls.size());
    open_bucket_ = -1;
    gradient_there_.assign(context_.parameters.size(), false);
    for (std::size_t i = 0; i < visits_.visits.size(); ++i) {
      const FetchStep& step = trace_.steps[i];
      const auto issue_call = [&](int call) {
        if (call >= 0)
          calls[static_cast<std::size_t>(call)] = issue(trace_.calls[static_cast<std::size_t>(call)]);
      };
      issue_call(step.fetch);
      if (step.awaited >= 0) {
        fetches_.make_room();
        const TaskId arrived = calls[static_cast<std::size_t>(step.awaited)];
        builder_.wait(arrived);
        fetches_.add(arrived);
      }
      issue_call(step.prefetch);
      run_module(visits_.visits[i], m);
    }
    if (open_bucket_ >= 0) reduce(open_bucket_, m);
    // The epilogue synchronises the reduce stream with the host.
    builder_.wait(last_reduction_);
    builder_.host_wait({last_reduction_}, Seconds(0), "synchronise");
  }

  void run_module(const ModuleVisit& visit, int m) {
    const ModuleUse& use = context_.layers.modules(visit.layer)[static_cast<std::size_t>(visit.module)];
    switch (visit.pass) {
      case ModulePass::forward:
        builder_.compute(TaskRole::forward, use.forward, visit.layer);
        return;
      case ModulePass::recompute:
        builder_.compute(TaskRole::recompute, use.recompute, visit.layer);
        return;
      case ModulePass::backward:
        break;
    }
    if (context_.training.activation_checkpointing == Checkpointing::selective) {
      builder_.compute(TaskRole::recompute, use.recompute, visit.layer);
    }
    builder_.compute(TaskRole::backward, use.backward, visit.layer);
    for (const int parameter : own_parameters(visit)) {
      const auto place = static_cast<std::size_t>(parameter);
      if (!gradient_there_[place]) gradient_ready(parameter, m);
      gradient_there_[place] = true;
    }
  }

  void gradient_ready(int parameter, int m) {
    const int bucket = order_.bucket_of(parameter);
    if (open_bucket_ >= 0 && bucket != open_bucket_) reduce(open_bucket_, m);
    open_bucket_ = bucket;
    ready_elements_ += context_.parameters[static_cast<std::size_t>(parameter)].elements;
    ++ready_tensors_;
  }

  void reduce(int bucket, int m) {
    const double gradient = element_size(context_.training.gradient_dtype);
    builder_.compute(TaskRole::copy,
                     context_.copy_work("ipg copy", 2 * gradient * ready_elements_, ready_tensors_));
    ready_elements_ = 0;
    ready_tensors_ = 0;
    const double elements = order_.elements(static_cast<std::size_t>(bucket));
    const double slice = elements / context_.world;
    reductions_.make_room();
    // Packed by rank, divided, then a true reduce-scatter; the slice is copied or added to the sharded
    // gradient.
    builder_.compute_on(reduce_stream_, TaskRole::copy,
                        context_.copy_work("pack and divide", 4 * gradient * elements, 2), {builder_.event()},
                        "pack and divide");
    builder_.collective(reduce_stream_, communicator_, Operation::reduce_scatter,
                        Bytes(element_size(context_.training.reduce_dtype) * elements), {}, "gradients");
    last_reduction_ =
        builder_.compute_on(reduce_stream_, TaskRole::copy,
                            context_.copy_work("shard gradients", (m > 0 ? 3 : 2) * gradient * slice,
                                               order_.tensors(static_cast<std::size_t>(bucket))),
                            {}, "shard gradients");
    reductions_.add(last_reduction_);
    if (!context_.training.overlap_comm.value_or(true)) builder_.wait(last_reduction_);
  }

  TaskId update() {
    double persistent = 0, shard = 0;
    for (std::size_t p = 0; p < context_.parameters.size(); ++p) {
      const double elements = context_.parameters[p].elements;
      shard += padded(static_cast<int>(p)) / context_.world;
      if (elements <= context_.training.stage3_param_persistence_threshold)
        persistent += padded(static_cast<int>(p));
    }
    deepspeed_overflow_and_norm(context_, reduce_stream_, communicator_, shard, true);
    // Sub-groups are updated one after the other; together they are the whole shard.
    const int sub_groups = static_cast<int>(std::ceil(shard / context_.training.sub_group_size));
    deepspeed_update(context_, shard, std::max(1, sub_groups));
    const TaskId updated = builder_.event();
    const TaskId gathered =
        builder_.collective(gather_stream_, communicator_, Operation::all_gather,
                            Bytes(element_size(context_.training.parameter_dtype) * persistent), {updated},
                            "persistent parameters");
    return gathered.exists() ? gathered : updated;
  }

  StepContext& context_;
  StepBuilder& builder_;
  int gather_stream_, reduce_stream_, communicator_;
  Stage3Visits visits_;
  FetchTrace trace_;
  IpgOrder order_;
  Outstanding fetches_, reductions_;
  int open_bucket_{-1};
  std::vector<bool> gradient_there_;
  double ready_elements_{};
  int ready_tensors_{};
  TaskId last_reduction_;
};

}  // namespace

TaskId plan_deepspeed_stage3(StepContext& context) { return Stage3(context).run(); }

}  // namespace stepcast
