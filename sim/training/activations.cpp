#include "sim/training/activations.hpp"

#include <algorithm>

#include "sim/training/layers.hpp"
#include "sim/training/method.hpp"

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

namespace {

/// Features of a token's gradients that stepcast-trainer allocates once: the widest inside a layer twice, and
/// the residual stream's (calibrate/trainer/network.cpp). Per sample, in elements.
double gradient_workspace(const Model& model) {
  double widest = 0, stream = 0;
  for (const Layer& layer : model.layers) {
    for (const Operator& op : layer.operators) {
      if (op.kind == OperatorKind::gemm && op.gemm.input_gradient) {
        widest = std::max(widest, op.gemm.rows * static_cast<double>(op.gemm.depth));
      } else if (op.kind == OperatorKind::attention) {
        const AttentionWork& work = op.attention;
        widest =
            std::max(widest, 3.0 * static_cast<double>(work.query_length * work.query_heads * work.head_dim));
      } else if (op.name.ends_with(".residual")) {
        stream = std::max(stream, layer.output_elements);
      }
    }
  }
  return 2 * widest + stream;
}

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
  if (is_own_trainer(training)) {
    // The logits' gradient takes their place; what backward works in is there all the time.
    std::fill(memory.gradients.begin(), memory.gradients.end(), 0.0);
    memory.logits_gradient = training.micro_batch_size * gradient_workspace(inputs.model) * kept.element();
    return memory;
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
