#include "calibrate/trainer/bucket_layout.hpp"
#include "calibrate/trainer/device_memory.hpp"

namespace stepcast {
namespace {

class BucketSharded : public TrainingStrategy {
 public:
  explicit BucketSharded(const StrategyInputs& inputs)
      : inputs_(inputs),
        device_(inputs.backend.device()),
        zero2_(inputs.training.strategy == Strategy::zero2),
        memory_(device_),
        layout_(bucket_layout(inputs, inputs.world)),
        master_(memory_.take(layout_.total(), Dtype::fp32)),
        compute_(inputs.compute == Dtype::fp32 ? master_ : memory_.take(layout_.total(), inputs.compute)),
        buckets_memory_(memory_.take(layout_.total(), Dtype::fp32)),
        first_(memory_.take(layout_.total() / inputs.world, Dtype::fp32)),
        second_(memory_.take(layout_.total() / inputs.world, Dtype::fp32)),
        communicator_(inputs.backend.communicator(inputs.all_ranks())),
        buckets_(inputs_, layout_, buckets_memory_, *communicator_) {
    place_weights(inputs_, layout_, master_, compute_);
    if (zero2_) {
      // Backward writes into the buckets; what stays of them is added up in the slices.
      slices_ = memory_.take(layout_.total() / inputs.world, Dtype::fp32);
      place_gradients(inputs_, layout_, buckets_memory_);
    } else {
      place_gradients(inputs_, layout_, memory_.take(layout_.total(), Dtype::fp32));
    }
  }

  void step(Network& network, int step) override {
    const int micro_batches = inputs_.training.gradient_accumulation_steps;
    const int layers = static_cast<int>(inputs_.model.layers.size());
    for (int m = 0; m < micro_batches; ++m) {
      if (m == 0 || zero2_) inputs_.views.fresh.assign(layout_.offsets.size(), 1);
      const bool synchronise = zero2_ || inputs_.synchronises(m);
      network.begin(step, m);
      for (int layer = 0; layer < layers; ++layer) network.forward(layer);
      if (synchronise) {
        buckets_.begin(Operation::reduce_scatter, [&](std::size_t b) {
          return zero2_ && m == 0 ? layout_.own(slices_, b) : layout_.slice(buckets_memory_, b, inputs_.rank);
        });
      }
      for (int layer = layers; layer-- > 0;) {
        network.backward(layer, [&](int parameter) {
          if (synchronise) buckets_.ready(parameter);
        });
      }
      if (!synchronise) continue;
      for (std::size_t b = 0; b < layout_.size(); ++b) buckets_.wait(b);
      if (zero2_ && m > 0) add_slices();
    }
    inputs_.clock.optimizer([&] { update(network, step); });
    gather();
  }

 private:
  void add_slices() {
    for (std::size_t b = 0; b < layout_.size(); ++b) {
      const Tensor sum = layout_.own(slices_, b);
      device_.add(sum, layout_.slice(buckets_memory_, b, inputs_.rank), sum);
    }
  }

  void update(Network& network, int step) {
    for (std::size_t b = 0; b < layout_.size(); ++b) {
      const Tensor gradient =
          zero2_ ? layout_.own(slices_, b) : layout_.slice(buckets_memory_, b, inputs_.rank);
      network.update(layout_.slice(master_, b, inputs_.rank), gradient, layout_.own(first_, b),
                     layout_.own(second_, b), step);
    }
  }

  /// From the last bucket to the first: the forward needs the embedding first.
  void gather() {
    std::vector<DeviceCommunicator::Ticket> tickets;
    for (std::size_t b = layout_.size(); b-- > 0;) {
      tickets.push_back(communicator_->start(
          {Operation::all_gather, layout_.slice(master_, b, inputs_.rank), layout_.bucket(master_, b)}));
    }
    for (const DeviceCommunicator::Ticket ticket : tickets) inputs_.clock.wait(*communicator_, ticket);
    if (compute_.data != master_.data) device_.copy(master_, compute_);
  }

  StrategyInputs inputs_;
  ComputeDevice& device_;
  bool zero2_;
  DeviceMemory memory_;
  BucketLayout layout_;
  Tensor master_, compute_, buckets_memory_, first_, second_, slices_;
  std::unique_ptr<DeviceCommunicator> communicator_;
  GradientBuckets buckets_;
};

}  // namespace

std::unique_ptr<TrainingStrategy> bucket_sharded(const StrategyInputs& inputs) {
  return std::make_unique<BucketSharded>(inputs);
}

}  // namespace stepcast
