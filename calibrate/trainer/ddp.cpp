#include <optional>

#include "calibrate/trainer/bucket_layout.hpp"
#include "calibrate/trainer/device_memory.hpp"

namespace stepcast {
namespace {

class BucketReplicated : public TrainingStrategy {
 public:
  explicit BucketReplicated(const StrategyInputs& inputs)
      : inputs_(inputs),
        device_(inputs.backend.device()),
        memory_(device_),
        layout_(bucket_layout(inputs, 1)),
        master_(memory_.take(layout_.total(), Dtype::fp32)),
        compute_(inputs.compute == Dtype::fp32 ? master_ : memory_.take(layout_.total(), inputs.compute)),
        gradients_(memory_.take(layout_.total(), Dtype::fp32)),
        first_(memory_.take(layout_.total(), Dtype::fp32)),
        second_(memory_.take(layout_.total(), Dtype::fp32)) {
    place_weights(inputs_, layout_, master_, compute_);
    place_gradients(inputs_, layout_, gradients_);
    if (inputs.world == 1) return;
    views_ = inputs.training.gradient_as_bucket_view;
    reduced_ = views_ ? gradients_ : memory_.take(layout_.total(), Dtype::fp32);
    communicator_ = inputs.backend.communicator(inputs.all_ranks());
    buckets_.emplace(inputs_, layout_, reduced_, *communicator_);
  }

  void step(Network& network, int step) override {
    const int micro_batches = inputs_.training.gradient_accumulation_steps;
    const int layers = static_cast<int>(inputs_.model.layers.size());
    for (int m = 0; m < micro_batches; ++m) {
      if (m == 0) inputs_.views.fresh.assign(layout_.offsets.size(), 1);
      const bool synchronise = inputs_.world > 1 && inputs_.synchronises(m);
      network.begin(step, m);
      for (int layer = 0; layer < layers; ++layer) network.forward(layer);
      if (synchronise) {
        buckets_->begin(Operation::all_reduce, [&](std::size_t b) { return layout_.bucket(reduced_, b); });
      }
      for (int layer = layers; layer-- > 0;) {
        network.backward(layer, [&](int parameter) {
          if (synchronise) buckets_->ready(parameter);
        });
      }
      if (synchronise) take_reduced();
    }
    inputs_.clock.optimizer([&] {
      network.update(master_, gradients_, first_, second_, step);
      if (compute_.data != master_.data) device_.copy(master_, compute_);
    });
  }

 private:
  /// Each bucket is copied back before the next is waited for.
  void take_reduced() {
    for (std::size_t b = 0; b < layout_.size(); ++b) {
      buckets_->wait(b);
      if (!views_) device_.copy(layout_.bucket(reduced_, b), layout_.bucket(gradients_, b));
    }
  }

  StrategyInputs inputs_;
  ComputeDevice& device_;
  DeviceMemory memory_;
  BucketLayout layout_;
  Tensor master_, compute_, gradients_, first_, second_, reduced_;
  bool views_{};
  std::unique_ptr<DeviceCommunicator> communicator_;
  std::optional<GradientBuckets> buckets_;
};

}  // namespace

std::unique_ptr<TrainingStrategy> bucket_replicated(const StrategyInputs& inputs) {
  return std::make_unique<BucketReplicated>(inputs);
}

}  // namespace stepcast
