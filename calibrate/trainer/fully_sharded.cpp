#include "sim/training/fully_sharded.hpp"

#include <algorithm>
#include <deque>

#include "calibrate/trainer/device_memory.hpp"
#include "calibrate/trainer/strategy.hpp"

namespace stepcast {
namespace {

/// One parameter's place in its unit. Every rank has `chunk` elements of it: whole rows, padded at the end.
struct UnitParameter {
  int number{};
  std::int64_t chunk{};
  std::int64_t in_shard{};  ///< offset in a rank's shard; in the unsharded unit, that many times the shards
};

struct Unit {
  std::vector<UnitParameter> parameters;
  std::int64_t shard{};       ///< elements of one rank
  std::int64_t start{};       ///< of this unit in the flat arrays of shards
  Tensor weights, gradients;  ///< unsharded; blocks share theirs where they are dropped after use
  bool resident{};
  bool gathering{};
  DeviceCommunicator::Ticket gathered{};
};

/// FSDP2's units and limits. What FSDP2 copies on streams of its own runs on the compute stream here.
class FullySharded : public TrainingStrategy {
 public:
  explicit FullySharded(const StrategyInputs& inputs)
      : inputs_(inputs),
        device_(inputs.backend.device()),
        memory_(device_),
        shards_(shard_ranks()),
        shard_rank_(inputs.rank % shards_),
        keeps_blocks_(!inputs.training.reshard_after_forward.value_or(true)),
        sums_whole_gradients_(inputs.training.gradient_sync == GradientSync::last &&
                              inputs.training.gradient_accumulation_steps > 1) {
    read_units();
    open_communicators();
    master_ = memory_.take(total_shard_, Dtype::fp32);
    gradient_shards_ = memory_.take(total_shard_, Dtype::fp32);
    first_ = memory_.take(total_shard_, Dtype::fp32);
    second_ = memory_.take(total_shard_, Dtype::fp32);
    take_buffers();
    upload_weights();
  }

  void step(Network& network, int step) override {
    for (int m = 0; m < inputs_.training.gradient_accumulation_steps; ++m) {
      if (m == 0 || !sums_whole_gradients_) {
        inputs_.views.fresh.assign(inputs_.graph.parameters.size(), 1);
      }
      network.begin(step, m);
      forward(network);
      backward(network, m);
    }
    inputs_.clock.optimizer([&] { network.update(master_, gradient_shards_, first_, second_, step); });
  }

 private:
  struct Reduction {
    std::size_t unit{};
    Tensor input;
    bool adds{};
    bool scattered{};  ///< the reduce-scatter is done, an all-reduce over the replicas is on its way
    DeviceCommunicator::Ticket ticket{};
  };

  [[nodiscard]] int shard_ranks() const {
    return inputs_.training.strategy == Strategy::hsdp
               ? std::clamp(inputs_.training.shard_degree, 1, inputs_.world)
               : inputs_.world;
  }
  [[nodiscard]] int replicas() const { return inputs_.world / shards_; }
  [[nodiscard]] bool dropped_after_forward(std::size_t unit) const {
    return inputs_.training.reshard_after_forward.value_or(unit != 0);
  }

  void read_units() {
    std::vector<std::vector<int>> numbers(inputs_.model.layers.size());
    for (std::size_t p = 0; p < inputs_.graph.parameters.size(); ++p) {
      numbers[static_cast<std::size_t>(inputs_.graph.parameters[p].layer)].push_back(static_cast<int>(p));
    }
    unit_of_layer_.resize(inputs_.model.layers.size());
    for (const ShardUnit& planned : shard_units(inputs_.model, shards_)) {
      Unit& unit = units_.emplace_back();
      unit.start = total_shard_;
      for (const int layer : planned.layers) {
        unit_of_layer_[static_cast<std::size_t>(layer)] = units_.size() - 1;
        for (const int number : numbers[static_cast<std::size_t>(layer)]) {
          const TrainedParameter& parameter = inputs_.graph.parameters[static_cast<std::size_t>(number)];
          const std::int64_t rows = (parameter.rows + shards_ - 1) / shards_;
          unit.parameters.push_back({number, rows * (parameter.count / parameter.rows), unit.shard});
          unit.shard += unit.parameters.back().chunk;
        }
      }
      total_shard_ += unit.shard;
    }
  }

  void open_communicators() {
    if (shards_ > 1) {
      std::vector<int> neighbours;
      for (int i = 0; i < shards_; ++i) neighbours.push_back(inputs_.rank - shard_rank_ + i);
      shard_group_ = inputs_.backend.communicator(neighbours);
    }
    if (replicas() == 1) return;
    std::vector<int> ranks;
    for (int rank = shard_rank_; rank < inputs_.world; rank += shards_) ranks.push_back(rank);
    replicate_group_ = inputs_.backend.communicator(ranks);
  }

  [[nodiscard]] std::int64_t elements(const Unit& unit) const { return unit.shard * shards_; }

  void take_buffers() {
    std::int64_t block = 0, largest = elements(units_[0]);
    for (std::size_t u = 1; u < units_.size(); ++u) block = std::max(block, elements(units_[u]));
    largest = std::max(largest, block);
    const Tensor shared_weights = keeps_blocks_ ? Tensor{} : memory_.take(block, inputs_.compute);
    const Tensor shared_gradients = sums_whole_gradients_ ? Tensor{} : memory_.take(block, Dtype::fp32);
    for (std::size_t u = 0; u < units_.size(); ++u) {
      Unit& unit = units_[u];
      const bool own = u == 0;
      unit.weights = own || keeps_blocks_ ? memory_.take(elements(unit), inputs_.compute)
                                          : shared_weights.part(0, elements(unit));
      unit.gradients = own || sums_whole_gradients_ ? memory_.take(elements(unit), Dtype::fp32)
                                                    : shared_gradients.part(0, elements(unit));
      for (const UnitParameter& parameter : unit.parameters) view(unit, parameter);
    }
    for (Tensor& buffer : gather_buffers_) buffer = memory_.take(block, inputs_.compute);
    // With replicas a reduce-scatter's result stays in its buffer while it is all-reduced.
    const int inputs = std::max(1, inputs_.training.reduce_scatter_max_input_buffers);
    for (int i = 0; i < inputs + (replicas() > 1 ? 1 : 0); ++i) {
      free_inputs_.push_back(memory_.take(largest, inputs_.compute));
    }
    if (inputs_.compute != Dtype::fp32) {
      std::int64_t shard = 0;
      for (const Unit& unit : units_) shard = std::max(shard, unit.shard);
      cast_ = memory_.take(shard, Dtype::fp32);
    }
  }

  void view(Unit& unit, const UnitParameter& parameter) {
    const auto place = static_cast<std::size_t>(parameter.number);
    const std::int64_t count = inputs_.graph.parameters[place].count;
    inputs_.views.weights.resize(inputs_.graph.parameters.size());
    inputs_.views.gradients.resize(inputs_.graph.parameters.size());
    inputs_.views.weights[place] = unit.weights.part(parameter.in_shard * shards_, count);
    inputs_.views.gradients[place] = unit.gradients.part(parameter.in_shard * shards_, count);
  }

  void upload_weights() {
    if (inputs_.model.measured) return;
    for (const Unit& unit : units_) {
      for (const UnitParameter& own : unit.parameters) {
        const auto place = static_cast<std::size_t>(own.number);
        std::vector<float> values =
            starting_values(inputs_.graph.parameters[place], own.number, inputs_.seed);
        values.resize(static_cast<std::size_t>(own.chunk * shards_));
        device_.upload(master_.part(unit.start + own.in_shard, own.chunk),
                       values.data() + own.chunk * shard_rank_);
      }
    }
  }

  void forward(Network& network) {
    gather(0);
    gather(1);
    unshard(0);
    gather(2);
    const int layers = static_cast<int>(unit_of_layer_.size());
    for (int layer = 0; layer < layers; ++layer) {
      const std::size_t unit = unit_of_layer_[static_cast<std::size_t>(layer)];
      if (unit != 0) {
        unshard(unit);
        // Its buffer is free again: the one after the next may come.
        gather(unit + 2);
      }
      network.forward(layer);
      if (unit != 0 && dropped_after_forward(unit)) units_[unit].resident = false;
    }
    if (dropped_after_forward(0)) units_[0].resident = false;
  }

  void backward(Network& network, int m) {
    gather(0);
    unshard(0);
    gather(units_.size() - 1);
    for (std::size_t layer = unit_of_layer_.size(); layer-- > 0;) {
      const std::size_t unit = unit_of_layer_[layer];
      if (unit != 0) {
        unshard(unit);
        gather(unit - 1);
      }
      network.backward(static_cast<int>(layer), [](int) {});
      if (unit != 0) reduce(unit, m);
    }
    reduce(0, m);
    while (!reductions_.empty()) advance_oldest();
  }

  /// Starts the all-gather of a unit that is neither here nor on its way.
  void gather(std::size_t u) {
    if (u >= units_.size()) return;
    Unit& unit = units_[u];
    if (unit.resident || unit.gathering || unit.shard == 0) return;
    const Tensor buffer = gather_buffer(u);
    const Tensor own = buffer.part(shard_rank_ * unit.shard, unit.shard);
    device_.copy(master_.part(unit.start, unit.shard), own);
    if (shards_ > 1) unit.gathered = shard_group_->start({Operation::all_gather, own, buffer});
    unit.gathering = true;
  }

  /// Two ahead in forward, one in backward: neighbours take turns. The root unit is gathered while no
  /// reduce-scatter needs its input.
  [[nodiscard]] Tensor gather_buffer(std::size_t u) const {
    return (u == 0 ? free_inputs_.front() : gather_buffers_[u % 2]).part(0, elements(units_[u]));
  }

  /// Waits for a unit and splits the gathered shards into parameters.
  void unshard(std::size_t u) {
    Unit& unit = units_[u];
    if (unit.resident || unit.shard == 0) return;
    gather(u);
    if (shards_ > 1) inputs_.clock.wait(*shard_group_, unit.gathered);
    const Tensor buffer = gather_buffer(u);
    for_each_piece(unit, [&](std::int64_t in_unit, std::int64_t in_shards, std::int64_t count) {
      device_.copy(buffer.part(in_shards, count), unit.weights.part(in_unit, count));
    });
    unit.gathering = false;
    unit.resident = true;
  }

  template <class Copy>
  void for_each_piece(const Unit& unit, Copy copy) const {
    if (shards_ == 1) return copy(0, 0, unit.shard);
    for (const UnitParameter& parameter : unit.parameters) {
      for (int rank = 0; rank < shards_; ++rank) {
        copy(parameter.in_shard * shards_ + rank * parameter.chunk, rank * unit.shard + parameter.in_shard,
             parameter.chunk);
      }
    }
  }

  /// Drops a unit's weights and starts the reduce-scatter of its gradients.
  void reduce(std::size_t u, int m) {
    Unit& unit = units_[u];
    unit.resident = false;
    if (unit.shard == 0 || !inputs_.synchronises(m)) return;
    // Compute runs at most so many reduce-scatters ahead.
    const auto limit =
        static_cast<std::size_t>(std::max(1, inputs_.training.reduce_scatter_max_input_buffers));
    while (scattering() >= limit) advance_scatter();
    while (free_inputs_.empty()) advance_oldest();
    Reduction reduction{u, free_inputs_.front(), m > 0 && !sums_whole_gradients_};
    free_inputs_.pop_front();
    const float mean = 1.0F / static_cast<float>(inputs_.world);
    for_each_piece(unit, [&](std::int64_t in_unit, std::int64_t in_shards, std::int64_t count) {
      device_.copy(unit.gradients.part(in_unit, count), reduction.input.part(in_shards, count), mean);
    });
    if (shards_ > 1) {
      reduction.ticket = shard_group_->start(
          {Operation::reduce_scatter, reduction.input.part(0, elements(unit)), reduced(reduction)});
    }
    reductions_.push_back(reduction);
  }

  [[nodiscard]] Tensor reduced(const Reduction& reduction) const {
    const std::int64_t shard = units_[reduction.unit].shard;
    return reduction.input.part(shard_rank_ * shard, shard);
  }

  [[nodiscard]] std::size_t scattering() const {
    return static_cast<std::size_t>(std::count_if(reductions_.begin(), reductions_.end(),
                                                  [](const Reduction& r) { return !r.scattered; }));
  }

  /// The oldest reduce-scatter is waited for; replicas then add its result up.
  void advance_scatter() {
    const auto oldest =
        std::find_if(reductions_.begin(), reductions_.end(), [](const Reduction& r) { return !r.scattered; });
    if (shards_ > 1) inputs_.clock.wait(*shard_group_, oldest->ticket);
    oldest->scattered = true;
    if (replicas() == 1) return finish_oldest();
    oldest->ticket = replicate_group_->start({Operation::all_reduce, reduced(*oldest), reduced(*oldest)});
  }

  void advance_oldest() {
    if (!reductions_.front().scattered) return advance_scatter();
    inputs_.clock.wait(*replicate_group_, reductions_.front().ticket);
    finish_oldest();
  }

  /// The shard is cast and added to what earlier micro-batches left.
  void finish_oldest() {
    const Reduction done = reductions_.front();
    reductions_.pop_front();
    const Unit& unit = units_[done.unit];
    const Tensor sum = gradient_shards_.part(unit.start, unit.shard);
    if (!done.adds) {
      device_.copy(reduced(done), sum);
    } else if (inputs_.compute == Dtype::fp32) {
      device_.add(sum, reduced(done), sum);
    } else {
      const Tensor cast = cast_.part(0, unit.shard);
      device_.copy(reduced(done), cast);
      device_.add(sum, cast, sum);
    }
    free_inputs_.push_back(done.input);
  }

  StrategyInputs inputs_;
  ComputeDevice& device_;
  DeviceMemory memory_;
  int shards_, shard_rank_;
  bool keeps_blocks_;          ///< gathered blocks stay from forward to backward
  bool sums_whole_gradients_;  ///< over micro-batches, unsharded (gradient_sync = "last")
  std::vector<Unit> units_;
  std::vector<std::size_t> unit_of_layer_;
  std::int64_t total_shard_{};
  std::unique_ptr<DeviceCommunicator> shard_group_, replicate_group_;
  Tensor master_, gradient_shards_, first_, second_, cast_;
  Tensor gather_buffers_[2];
  std::deque<Tensor> free_inputs_;
  std::deque<Reduction> reductions_;  ///< oldest first
};

}  // namespace

std::unique_ptr<TrainingStrategy> fully_sharded(const StrategyInputs& inputs) {
  return std::make_unique<FullySharded>(inputs);
}

}  // namespace stepcast
