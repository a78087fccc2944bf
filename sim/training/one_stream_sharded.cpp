#include <algorithm>
#include <deque>
#include <string>

#include "sim/training/fully_sharded.hpp"
#include "sim/training/strategies.hpp"

namespace stepcast {
namespace {

/// stepcast-trainer's zero3, fsdp and hsdp: FSDP2's units and limits, but every copy runs on the compute
/// stream, and one shard communicator takes gathers and reductions in the order in which they are issued
/// there (calibrate/trainer/fully_sharded.cpp). So the limits are the order of issue: two gathers ahead in
/// forward, one in backward; a copy-in takes compute's time; replicas begin to add up when compute waits for
/// the reduce-scatter.
class OneStreamStep {
 public:
  explicit OneStreamStep(StepContext& context)
      : context_(context),
        builder_(context.builder),
        shards_(shard_degree(context.inputs.scenario)),
        replicas_(context.world / shards_),
        shard_stream_(builder_.add_stream("shard")),
        shard_communicator_(builder_.add_communicator(replicas_ > 1 ? "shard" : "data_parallel",
                                                      shard_groups(context.world, shards_))),
        sums_whole_gradients_(context.training.gradient_sync == GradientSync::last),
        limit_(static_cast<std::size_t>(std::max(1, context.training.reduce_scatter_max_input_buffers))),
        units_(shard_units(context.model, shards_)),
        unit_of_layer_(units_of_layers(units_, context.model)),
        gathered_(units_.size()),
        on_its_way_(units_.size()),
        resident_(units_.size()),
        parameter_bytes_(element_size(context.training.parameter_dtype)),
        reduce_bytes_(element_size(context.training.reduce_dtype)) {
    if (replicas_ > 1) {
      replicate_stream_ = builder_.add_stream("replicate");
      replicate_communicator_ =
          builder_.add_communicator("replicate", replicate_groups(context.world, shards_));
    }
  }

  TaskId run() {
    StepInput input(context_);
    for (int m = 0; m < context_.planned_micro_batches; ++m) {
      input.begin_micro_batch(m);
      context_.layers.accumulate(m > 0 && sums_whole_gradients_);
      forward();
      backward(m);
    }
    builder_.end_micro_batches();
    double elements = 0;
    for (const ShardUnit& unit : units_) elements += unit.elements / shards_;
    optimizer_step(context_, elements, 1, fp32_bytes);
    return builder_.event();
  }

 private:
  static constexpr double fp32_bytes = element_size(Dtype::fp32);
  struct Reduction {
    std::size_t unit{};
    bool adds{}, scattered{};
    TaskId task;
  };

  [[nodiscard]] bool dropped_after_forward(std::size_t unit) const {
    return context_.training.reshard_after_forward.value_or(!units_[unit].root);
  }
  [[nodiscard]] std::string name_of(std::size_t unit) const {
    return unit_name(units_[unit], context_.model);
  }
  [[nodiscard]] int pieces(std::size_t unit) const {
    return shards_ == 1 ? 1 : units_[unit].tensors * shards_;
  }
  void copy(std::size_t unit, const char* name, double bytes, int kernels) {
    builder_.compute(TaskRole::copy, context_.copy_work(name, bytes, kernels), units_[unit].layers.front());
  }
  TaskId shard_call(Operation operation, double bytes, const std::string& name, std::size_t unit) {
    return builder_.collective(shard_stream_, shard_communicator_, operation, Bytes(bytes),
                               {builder_.event()}, name + name_of(unit), units_[unit].layers.front());
  }

  void forward() {
    gather(0);
    gather(1);
    unshard(0);
    gather(2);
    for (int layer = 0; layer < context_.layer_count; ++layer) {
      const std::size_t unit = unit_of_layer_[static_cast<std::size_t>(layer)];
      if (unit != 0) {
        unshard(unit);
        gather(unit + 2);
      }
      builder_.compute(TaskRole::forward, context_.layers.forward(layer), layer);
      if (unit != 0 && dropped_after_forward(unit)) resident_[unit] = false;
    }
    if (dropped_after_forward(0)) resident_[0] = false;
  }

  void backward(int m) {
    gather(0);
    unshard(0);
    gather(units_.size() - 1);
    for (int layer = context_.layer_count - 1; layer >= 0; --layer) {
      const std::size_t unit = unit_of_layer_[static_cast<std::size_t>(layer)];
      if (unit != 0) {
        unshard(unit);
        gather(unit - 1);
      }
      recompute_layer(context_, layer);
      builder_.compute(TaskRole::backward, context_.layers.backward(layer), layer);
      if (unit != 0) reduce(unit, m);
    }
    reduce(0, m);
    while (!reductions_.empty()) advance_oldest();
  }

  void gather(std::size_t unit) {
    if (unit >= units_.size() || resident_[unit] || on_its_way_[unit] || units_[unit].elements <= 0) return;
    copy(unit, "copy-in", (fp32_bytes + parameter_bytes_) * units_[unit].elements / shards_, 1);
    gathered_[unit] =
        shard_call(Operation::all_gather, parameter_bytes_ * units_[unit].elements, "all-gather ", unit);
    on_its_way_[unit] = true;
  }

  void unshard(std::size_t unit) {
    if (resident_[unit] || units_[unit].elements <= 0) return;
    gather(unit);
    builder_.wait(gathered_[unit]);
    copy(unit, "copy-out", 2 * parameter_bytes_ * units_[unit].elements, pieces(unit));
    on_its_way_[unit] = false;
    resident_[unit] = true;
  }

  void reduce(std::size_t unit, int m) {
    resident_[unit] = false;
    const double elements = units_[unit].elements;
    if (elements <= 0 || !context_.synchronises(m)) return;
    while (scattering() >= limit_) advance_scatter();
    // An input is kept until its result has been taken: with replicas there is one more.
    while (reductions_.size() >= limit_ + (replicas_ > 1 ? 1 : 0)) advance_oldest();
    copy(unit, "reduce copy-in", (fp32_bytes + reduce_bytes_) * elements, pieces(unit));
    reductions_.push_back(
        {unit, m > 0 && !sums_whole_gradients_, false,
         shard_call(Operation::reduce_scatter, reduce_bytes_ * elements, "reduce-scatter ", unit)});
  }

  [[nodiscard]] std::size_t scattering() const {
    return static_cast<std::size_t>(std::count_if(reductions_.begin(), reductions_.end(),
                                                  [](const Reduction& r) { return !r.scattered; }));
  }

  void advance_scatter() {
    const auto oldest =
        std::find_if(reductions_.begin(), reductions_.end(), [](const Reduction& r) { return !r.scattered; });
    builder_.wait(oldest->task);
    oldest->scattered = true;
    if (replicas_ == 1) return finish_oldest();
    const ShardUnit& unit = units_[oldest->unit];
    oldest->task = builder_.collective(replicate_stream_, replicate_communicator_, Operation::all_reduce,
                                       Bytes(reduce_bytes_ * unit.elements / shards_), {builder_.event()},
                                       "all-reduce " + name_of(oldest->unit), unit.layers.front());
  }

  void advance_oldest() {
    if (!reductions_.front().scattered) return advance_scatter();
    builder_.wait(reductions_.front().task);
    finish_oldest();
  }

  void finish_oldest() {
    const Reduction done = reductions_.front();
    reductions_.pop_front();
    const bool casts = reduce_bytes_ != fp32_bytes;
    double bytes = reduce_bytes_ + fp32_bytes;
    if (done.adds) bytes = (casts ? bytes : 0) + 3 * fp32_bytes;
    copy(done.unit, "shard gradients", bytes * units_[done.unit].elements / shards_,
         done.adds && casts ? 2 : 1);
  }

  StepContext& context_;
  StepBuilder& builder_;
  int shards_, replicas_;
  int shard_stream_, shard_communicator_, replicate_stream_{}, replicate_communicator_{};
  bool sums_whole_gradients_;
  std::size_t limit_;
  std::vector<ShardUnit> units_;
  std::vector<std::size_t> unit_of_layer_;
  std::vector<TaskId> gathered_;
  std::vector<bool> on_its_way_, resident_;
  double parameter_bytes_, reduce_bytes_;
  std::deque<Reduction> reductions_;  ///< oldest first
};

}  // namespace

TaskId plan_one_stream_sharded(StepContext& context) { return OneStreamStep(context).run(); }

}  // namespace stepcast
