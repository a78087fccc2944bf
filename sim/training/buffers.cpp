#include "sim/training/buffers.hpp"

#include <algorithm>
#include <cmath>

#include "sim/training/deepspeed_stage3.hpp"
#include "sim/training/fully_sharded.hpp"

namespace stepcast {
namespace {

class Buffers {
 public:
  explicit Buffers(StepContext& context)
      : context_(context),
        training_(context.training),
        layout_(state_layout(context.inputs.scenario)),
        gradient_bytes_(element_size(context.training.gradient_dtype)),
        parameter_bytes_(element_size(context.training.parameter_dtype)) {
    memory_.backward.assign(context.model.layers.size(), 0);
  }

  BufferMemory run() {
    if (!context_.inputs.scenario.cluster.node_spec.host_device)
      hold(context_.inputs.profile.software.product_workspace.value.value);
    autocast_copies();
    switch (method_of(training_)) {
      case Method::reducer:
      case Method::zero_redundancy:
      case Method::bucket_sharded:
        buckets();
        foreach_temporaries(context_.total_elements / layout_.optimizer_shards);
        break;
      case Method::deepspeed_all_reduce:
        memory_.reduction += std::min(5e8, context_.total_elements) * gradient_bytes_;
        fp32_gradients(context_.total_elements);
        break;
      case Method::deepspeed_partitioned:
        ipg_buckets();
        fp32_gradients(context_.total_elements / layout_.optimizer_shards);
        break;
      case Method::deepspeed_stage3:
        stage3();
        fp32_gradients(std::min(context_.total_elements / context_.world, training_.sub_group_size));
        break;
      case Method::megatron_data_parallel:
      case Method::megatron_distributed_optimizer:
        break;  // gradients are reduced in the buffer in which they add up
      case Method::fully_sharded:
        if (is_own_trainer(training_)) {
          one_stream_sharded();
        } else {
          fully_sharded();
        }
        foreach_temporaries(context_.total_elements / layout_.optimizer_shards);
        break;
    }
    return memory_;
  }

 private:
  /// From the first to the last instant.
  void hold(double bytes) {
    memory_.forward_end += bytes;
    hold_in_backward(bytes);
    memory_.reduction += bytes;
    memory_.optimizer += bytes;
  }

  void hold_in_backward(double bytes) {
    memory_.backward_start += bytes;
    for (double& layer : memory_.backward) layer += bytes;
  }

  void autocast_copies() {
    const double compute = std::max(2.0, element_size(training_.precision));
    if (method_of(training_) == Method::fully_sharded || parameter_bytes_ <= compute ||
        context_.model.measured)
      return;
    if (keeps_narrow_weights(training_)) return hold(compute * context_.total_elements);
    const bool full = training_.activation_checkpointing == Checkpointing::full;
    double copies = 0;
    for (std::size_t i = 0; i < context_.model.layers.size(); ++i) {
      const Layer& layer = context_.model.layers[i];
      double elements = 0;
      for (const Operator& op : layer.operators) {
        if (op.kind != OperatorKind::gemm && op.kind != OperatorKind::convolution) continue;
        for (const int p : op.parameters) {
          elements += static_cast<double>(layer.parameters[static_cast<std::size_t>(p)].count());
        }
      }
      if (!full) copies += compute * elements;
      memory_.backward[i] += full ? compute * elements : copies;
      memory_.forward_end += compute * elements;
    }
    memory_.backward_start += copies;
  }

  void buckets() {
    if (context_.world == 1) return;
    const bool views = training_.gradient_as_bucket_view && method_of(training_) != Method::bucket_sharded;
    if (!views) hold(context_.total_elements * gradient_bytes_);
  }

  void foreach_temporaries(double elements) {
    if (context_.inputs.profile.software.fused_optimizer || context_.model.measured) return;
    memory_.optimizer += elements * element_size(training_.optimizer_dtype);
  }

  void fp32_gradients(double elements) {
    if (gradient_bytes_ < 4) memory_.optimizer += 4 * elements;
  }

  void ipg_buckets() {
    const bool overlap = training_.overlap_comm.value_or(false);
    const double buffer = training_.reduce_bucket_size * gradient_bytes_ * (overlap ? 2 : 1);
    const double flattened =
        std::min(training_.reduce_bucket_size, context_.total_elements) * gradient_bytes_;
    memory_.reduction += buffer + flattened;
    // The bucket is allocated at the first gradient, which is where activations peak (facts 3.4, 5.1); what
    // is flattened for the collective exists only where reductions run inside backward.
    const bool reduces_in_backward = training_.strategy == Strategy::zero2 || overlap;
    hold_in_backward(reduces_in_backward ? buffer + flattened : buffer);
  }

  void stage3() {
    double persistent = 0;
    for (const ParameterRef& parameter : context_.parameters) {
      if (parameter.elements <= training_.stage3_param_persistence_threshold)
        persistent += parameter.elements;
    }
    hold(training_.reduce_bucket_size * gradient_bytes_ + persistent * parameter_bytes_);
    const double packed = std::min(training_.reduce_bucket_size, context_.total_elements) * gradient_bytes_;
    hold_in_backward(packed);
    const Stage3Visits visits = stage3_visits(context_);
    const FetchTrace trace = stage3_trace(context_, visits);
    // Slices of a prefetched group are put together beside the gathered buffer.
    const double assembling =
        std::min(training_.stage3_prefetch_bucket_size, trace.peak_live) * parameter_bytes_;
    bool backward_met = false;
    for (std::size_t i = 0; i < visits.visits.size(); ++i) {
      const ModuleVisit& visit = visits.visits[i];
      const double live = trace.steps[i].live * parameter_bytes_ + assembling;
      if (visit.pass == ModulePass::forward) {
        live_at_forward_end_ = live;
        continue;
      }
      if (!backward_met) memory_.backward_start += live;
      backward_met = true;
      double& peak = live_in_backward(visit.layer);
      peak = std::max(peak, live);
    }
    memory_.forward_end += live_at_forward_end_;
    for (std::size_t i = 0; i < memory_.backward.size() && i < live_backward_.size(); ++i) {
      memory_.backward[i] += live_backward_[i];
    }
  }

  double& live_in_backward(int layer) {
    live_backward_.resize(memory_.backward.size());
    return live_backward_[static_cast<std::size_t>(layer)];
  }

  void fully_sharded() {
    const std::vector<ShardUnit> units = shard_units(context_.model, layout_.parameter_shards);
    const double reduce = element_size(training_.reduce_dtype);
    const bool resharded = training_.reshard_after_forward.value_or(true);
    const double root = units.front().elements;
    double all = 0;
    for (const ShardUnit& unit : units) all += unit.elements;
    const double last = units.size() > 1 ? units.back().elements : 0;
    const bool root_resharded = training_.reshard_after_forward.value_or(false);
    // Forward ends in the head, with the root's weights; its backward begins with the last block on its way.
    memory_.forward_end += parameter_bytes_ * (resharded ? root : all);
    memory_.backward_start += parameter_bytes_ * (resharded ? root + last : all) + parameter_bytes_ * root;
    const int retained = std::max(1, training_.reduce_scatter_max_input_buffers);
    for (std::size_t u = 0; u < units.size(); ++u) {
      for (const int layer : units[u].layers) {
        double& here = memory_.backward[static_cast<std::size_t>(layer)];
        const double weights =
            resharded ? root + (u > 0 ? units[u].elements : 0) + (u > 1 ? units[u - 1].elements : 0) : all;
        here += parameter_bytes_ * weights;
        // Gradients of the unit, and the root's, which are complete only at the end.
        here += parameter_bytes_ * (root + (u > 0 ? units[u].elements : 0));
        for (std::size_t later = u + 1;
             later <= u + static_cast<std::size_t>(retained) && later < units.size(); ++later) {
          here += reduce * units[later].elements;
        }
      }
    }
    // The root's own reduce-scatter comes when nothing else is left.
    memory_.reduction += (parameter_bytes_ * (root_resharded ? 1 : 2) + reduce) * root;
  }

  /// All buffers are allocated once: unsharded weights and gradients of the root unit and of one block (of
  /// all where they outlive it), two blocks on their way, inputs of reduce-scatters that fit any unit.
  void one_stream_sharded() {
    const int shards = layout_.parameter_shards;
    const std::vector<ShardUnit> units = shard_units(context_.model, shards);
    const double reduce = element_size(training_.reduce_dtype);
    double block = 0, blocks = 0, largest = units.front().elements;
    for (std::size_t u = 1; u < units.size(); ++u) {
      block = std::max(block, units[u].elements);
      blocks += units[u].elements;
    }
    largest = std::max(largest, block);
    const bool keeps = !training_.reshard_after_forward.value_or(true);
    const bool sums = sums_whole_gradients(training_);
    const int inputs =
        std::max(1, training_.reduce_scatter_max_input_buffers) + (context_.world > shards ? 1 : 0);
    hold(parameter_bytes_ * (units.front().elements + (keeps ? blocks : block) + 2 * block) +
         gradient_bytes_ * (units.front().elements + (sums ? blocks : block)) + inputs * reduce * largest +
         (reduce < gradient_bytes_ ? gradient_bytes_ * largest / shards : 0));
  }

  StepContext& context_;
  const TrainingSection& training_;
  StateLayout layout_;
  double gradient_bytes_, parameter_bytes_;
  BufferMemory memory_;
  double live_at_forward_end_{};
  std::vector<double> live_backward_;
};

}  // namespace

BufferMemory buffer_memory(StepContext& context) { return Buffers(context).run(); }

}  // namespace stepcast
