#include "sim/training/fully_sharded.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <utility>

#include "sim/training/strategies.hpp"

namespace stepcast {

std::vector<ShardUnit> shard_units(const Model& model, int shards) {
  std::vector<ShardUnit> units(1);
  units.front().root = true;
  for (std::size_t layer = 0; layer < model.layers.size(); ++layer) {
    ShardUnit* unit = &units.front();
    if (model.layers[layer].kind == LayerKind::block) unit = &units.emplace_back();
    unit->layers.push_back(static_cast<int>(layer));
    for (const Parameter& parameter : model.layers[layer].parameters) {
      const double elements = static_cast<double>(parameter.count());
      const double rows = parameter.shape.empty() ? 1.0 : static_cast<double>(parameter.shape.front());
      unit->elements += std::ceil(rows / shards) * shards * (elements / rows);
      ++unit->tensors;
    }
  }
  return units;
}

std::vector<std::size_t> units_of_layers(const std::vector<ShardUnit>& units, const Model& model) {
  std::vector<std::size_t> unit_of_layer(model.layers.size());
  for (std::size_t unit = 0; unit < units.size(); ++unit) {
    for (const int layer : units[unit].layers) unit_of_layer[static_cast<std::size_t>(layer)] = unit;
  }
  return unit_of_layer;
}

std::string unit_name(const ShardUnit& unit, const Model& model) {
  return unit.root ? "root" : model.layers[static_cast<std::size_t>(unit.layers.front())].name;
}

std::vector<Group> shard_groups(int world, int shards) {
  std::vector<Group> groups;
  for (int first = 0; first < world; first += shards) {
    Group& group = groups.emplace_back();
    for (int i = 0; i < shards; ++i) group.ranks.push_back(first + i);
  }
  return groups;
}

std::vector<Group> replicate_groups(int world, int shards) {
  std::vector<Group> groups;
  for (int i = 0; i < shards; ++i) {
    Group& group = groups.emplace_back();
    for (int rank = i; rank < world; rank += shards) group.ranks.push_back(rank);
  }
  return groups;
}

namespace {

/// FSDP2 as facts 12.4 tells it. All waits between its streams are those of _fsdp_param_group.py.
class FullyShardedStep {
 public:
  explicit FullyShardedStep(StepContext& context)
      : context_(context),
        builder_(context.builder),
        shards_(shard_degree(context.inputs.scenario)),
        replicas_(context.world / shards_),
        copy_in_stream_(builder_.add_stream("all-gather copy-in")),
        gather_stream_(builder_.add_stream("all-gather")),
        reduce_stream_(builder_.add_stream("reduce-scatter")),
        shard_communicator_(builder_.add_communicator(replicas_ > 1 ? "shard" : "data_parallel",
                                                      shard_groups(context.world, shards_))),
        units_(shard_units(context.model, shards_)),
        unit_of_layer_(units_of_layers(units_, context.model)),
        gathered_(units_.size()),
        resident_(units_.size()),
        parameter_bytes_(element_size(context.training.parameter_dtype)),
        stored_bytes_(state_layout(context.inputs.scenario).parameter_bytes),
        gradient_bytes_(element_size(context.training.gradient_dtype)),
        reduce_bytes_(element_size(context.training.reduce_dtype)) {
    if (replicas_ > 1) {
      all_reduce_stream_ = builder_.add_stream("all-reduce");
      replicate_communicator_ =
          builder_.add_communicator("replicate", replicate_groups(context.world, shards_));
    }
  }

  TaskId run() {
    StepInput input(context_);
    for (int m = 0; m < context_.planned_micro_batches; ++m) {
      input.begin_micro_batch(m);
      // The root's forward makes the all-gather streams wait for all that the compute stream has done and
      // waited for.
      next_gather_waits_ = {builder_.event(), m == 0 ? StepBuilder::previous_step() : last_reduced_};
      last_reduced_ = {};
      forward();
      backward(m);
    }
    builder_.end_micro_batches();
    double elements = 0;
    int tensors = 0;
    for (const ShardUnit& unit : units_) {
      elements += unit.elements / shards_;
      tensors += unit.tensors;
    }
    optimizer_step(context_, elements, tensors, gradient_bytes_);
    return builder_.event();
  }

 private:
  [[nodiscard]] bool resharded_after_forward(std::size_t unit) const {
    return context_.training.reshard_after_forward.value_or(!units_[unit].root);
  }

  [[nodiscard]] std::string name_of(std::size_t unit) const {
    return unit_name(units_[unit], context_.model);
  }

  void gather(std::size_t unit) {
    const ShardUnit& group = units_[unit];
    if (resident_[unit] || gathered_[unit].exists() || group.elements <= 0) return;
    const int layer = group.layers.front();
    const double shard = group.elements / shards_;
    const WorkId cast = context_.copy_work("copy-in", (stored_bytes_ + parameter_bytes_) * shard, 1);
    const TaskId copied = builder_.compute_on(copy_in_stream_, TaskRole::copy, cast,
                                              std::exchange(next_gather_waits_, {}), "copy-in", layer);
    const double bytes = parameter_bytes_ * group.elements;
    gathered_[unit] = builder_.collective(gather_stream_, shard_communicator_, Operation::all_gather,
                                          Bytes(bytes), {copied}, "all-gather " + name_of(unit), layer);
    if (shards_ == 1) {
      gathered_[unit] =
          builder_.compute_on(gather_stream_, TaskRole::copy, context_.copy_work("local copy", 2 * bytes, 1),
                              {copied}, "local copy", layer);
    }
  }

  /// The compute stream waits for the unit and splits the gathered buffer into its parameters. Before that,
  /// in forward, later gathers are held back behind the copy-out of the unit before (two ahead); in backward
  /// behind this one (one ahead).
  void unshard(std::size_t unit, bool forward) {
    if (resident_[unit] || units_[unit].elements <= 0) return;
    if (forward && previous_copy_out_.exists()) next_gather_waits_.push_back(previous_copy_out_);
    builder_.wait(gathered_[unit]);
    builder_.compute(TaskRole::copy,
                     context_.copy_work("copy-out", 2 * parameter_bytes_ * units_[unit].elements, 1),
                     units_[unit].layers.front());
    const TaskId copied = builder_.event();
    if (!forward) next_gather_waits_.push_back(copied);
    previous_copy_out_ = forward ? copied : TaskId{};
    gathered_[unit] = {};
    resident_[unit] = true;
  }

  void forward() {
    gather(0);
    unshard(0, true);
    for (int layer = 0; layer < context_.layer_count; ++layer) {
      const std::size_t unit = unit_of_layer_[static_cast<std::size_t>(layer)];
      gather(unit);
      unshard(unit, true);
      builder_.compute(TaskRole::forward, context_.layers.forward(layer), layer);
      if (!units_[unit].root && resharded_after_forward(unit)) resident_[unit] = false;
    }
    if (resharded_after_forward(0)) resident_[0] = false;
  }

  void backward(int m) {
    const bool synchronise = context_.synchronises(m);
    gather(0);
    unshard(0, false);
    if (units_.size() > 1) gather(units_.size() - 1);
    for (int layer = context_.layer_count - 1; layer >= 0; --layer) {
      const std::size_t unit = unit_of_layer_[static_cast<std::size_t>(layer)];
      if (!units_[unit].root) {
        gather(unit);
        unshard(unit, false);
        if (unit > 1) gather(unit - 1);
      }
      recompute_layer(context_, layer);
      builder_.compute(TaskRole::backward, context_.layers.backward(layer), layer);
      if (!units_[unit].root) reduce(unit, m, synchronise);
    }
    reduce(0, m, synchronise);
    // The compute stream waits for the last event of each stream.
    builder_.wait(last_reduced_);
    retained_.clear();
  }

  /// Bytes that adding a stretch of unsharded gradients to those of earlier micro-batches moves, per element.
  [[nodiscard]] double accumulation_bytes(int m) const {
    if (context_.training.gradient_sync == GradientSync::every) return 0;
    if (m > 0) return parameter_bytes_ + 2 * reduce_bytes_;
    return parameter_bytes_ == reduce_bytes_ ? 0 : parameter_bytes_ + reduce_bytes_;
  }

  void reduce(std::size_t unit, int m, bool synchronise) {
    const ShardUnit& group = units_[unit];
    resident_[unit] = false;
    if (group.elements <= 0) return;
    const int layer = group.layers.front();
    if (const double bytes = accumulation_bytes(m); bytes > 0) {
      builder_.compute(TaskRole::copy,
                       context_.copy_work("accumulate", bytes * group.elements, group.tensors), layer);
    }
    if (!synchronise) return;
    // Compute runs at most so many reduce-scatters ahead.
    while (!retained_.empty() && static_cast<int>(retained_.size()) >=
                                     std::max(1, context_.training.reduce_scatter_max_input_buffers)) {
      builder_.wait(retained_.front());
      retained_.pop_front();
    }
    const double from = accumulation_bytes(m) > 0 ? reduce_bytes_ : parameter_bytes_;
    builder_.compute(TaskRole::copy,
                     context_.copy_work("reduce copy-in", (from + reduce_bytes_) * group.elements, 1), layer);
    const bool divides = context_.training.reduce_dtype == Dtype::fp16;
    if (divides) {
      builder_.compute(TaskRole::copy, context_.copy_work("divide", 2 * reduce_bytes_ * group.elements, 1),
                       layer);
    }
    const TaskId ready = builder_.event();
    const double bytes = reduce_bytes_ * group.elements;
    TaskId reduced = builder_.collective(reduce_stream_, shard_communicator_, Operation::reduce_scatter,
                                         Bytes(bytes), {ready}, "reduce-scatter " + name_of(unit), layer);
    if (shards_ == 1) {
      reduced =
          builder_.compute_on(reduce_stream_, TaskRole::copy, context_.copy_work("local copy", 2 * bytes, 1),
                              {ready}, "local copy", layer);
    }
    retained_.push_back(reduced);
    int stream = reduce_stream_;
    if (replicas_ > 1) {
      stream = all_reduce_stream_;
      reduced = builder_.collective(stream, replicate_communicator_, Operation::all_reduce,
                                    Bytes(bytes / shards_), {reduced}, "all-reduce " + name_of(unit), layer);
    }
    // The shard is cast and added to what earlier micro-batches left.
    const bool adds = m > 0 && context_.training.gradient_sync == GradientSync::every;
    const double per_element =
        reduce_bytes_ + (adds ? 2 : 1) * gradient_bytes_ + (divides ? 2 * reduce_bytes_ : 0);
    last_reduced_ =
        builder_.compute_on(stream, TaskRole::copy,
                            context_.copy_work("shard gradients", per_element * group.elements / shards_,
                                               adds ? group.tensors : 1),
                            {}, "shard gradients", layer);
  }

  StepContext& context_;
  StepBuilder& builder_;
  int shards_, replicas_;
  int copy_in_stream_, gather_stream_, reduce_stream_, all_reduce_stream_{};
  int shard_communicator_, replicate_communicator_{};
  std::vector<ShardUnit> units_;
  std::vector<std::size_t> unit_of_layer_;
  std::vector<TaskId> gathered_;  ///< of each unit: on its way
  std::vector<bool> resident_;
  double parameter_bytes_, stored_bytes_, gradient_bytes_, reduce_bytes_;
  std::vector<TaskId> next_gather_waits_;
  TaskId previous_copy_out_, last_reduced_;
  std::deque<TaskId> retained_;
};

}  // namespace

TaskId plan_fully_sharded(StepContext& context) { return FullyShardedStep(context).run(); }

}  // namespace stepcast
