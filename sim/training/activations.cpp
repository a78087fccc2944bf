#include "sim/training/activations.hpp"

#include <algorithm>

#include "sim/training/layers.hpp"

namespace stepcast {
namespace {

/// Bytes that one micro-batch keeps of a layer.
class Kept {
 public:
  explicit Kept(const PlanInputs& inputs) : inputs_(inputs), software_(inputs.profile.software) {}

  [[nodiscard]] double operator()(const Layer& layer, Recompute recompute) const {
    const double samples = inputs_.scenario.training.micro_batch_size;
    if (layer.forward_time) {
      const double whole =
          layer.activation_bytes ? measured_scale(inputs_) * layer.activation_bytes->value : 0;
      return recompute == Recompute::full && checkpointed(layer)
                 ? std::min(whole, samples * layer.output_elements * element())
                 : whole;
    }
    const bool scores = software_.attention_kernel == "eager";
    if (layer.kind == LayerKind::head) {
      return samples * bytes(kept_activations(layer, recompute, software_.fused_cross_entropy, scores));
    }
    const double fusion = std::clamp(software_.fusion, 0.0, 1.0);
    return samples * ((1 - fusion) * bytes(kept_activations(layer, recompute, false, scores)) +
                      fusion * bytes(kept_activations(layer, recompute, true, scores)));
  }

  [[nodiscard]] double element() const {
    // FP8 runs keep 16-bit tensors.
    return std::max(2.0, element_size(inputs_.scenario.training.precision));
  }

 private:
  [[nodiscard]] double bytes(const SavedActivations& saved) const {
    return saved.elements * element() + saved.bytes;
  }

  const PlanInputs& inputs_;
  const SoftwareProfile& software_;
};

}  // namespace

double ActivationMemory::kept_through(std::size_t layer) const {
  double sum = 0;
  for (std::size_t i = 0; i <= layer; ++i) sum += kept[i];
  return sum;
}

ActivationMemory activation_memory(const PlanInputs& inputs) {
  const Kept kept(inputs);
  const TrainingSection& training = inputs.scenario.training;
  const Recompute mode = recompute_of(training);
  ActivationMemory memory;
  double input = 0;
  for (std::size_t i = 0; i < inputs.model.layers.size(); ++i) {
    const Layer& layer = inputs.model.layers[i];
    const auto first_equal = static_cast<std::size_t>(std::max(layer.first_equal, 0));
    if (!layer.forward_time && first_equal < i) {
      memory.kept.push_back(memory.kept[first_equal]);
      memory.recreated.push_back(memory.recreated[first_equal]);
    } else {
      memory.kept.push_back(kept(layer, mode));
      memory.recreated.push_back(
          mode == Recompute::none ? 0 : std::max(0.0, kept(layer, Recompute::none) - memory.kept.back()));
    }
    const double output = training.micro_batch_size * layer.output_elements * kept.element();
    memory.gradients.push_back(output + input);
    input = output;
  }
  const double logits = training.micro_batch_size * inputs.model.logits_elements;
  // Eager backward holds the gradients of the log-softmax's output and input at once, both fp32; fused chains
  // keep one.
  const SoftwareProfile& software = inputs.profile.software;
  memory.logits_gradient =
      logits *
      (software.fused_cross_entropy ? kept.element() : 4.0 * (2 - std::clamp(software.fusion, 0.0, 1.0)));
  return memory;
}

}  // namespace stepcast
