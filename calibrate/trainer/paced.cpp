#include <algorithm>
#include <cmath>
#include <limits>

#include "calibrate/trainer/device_memory.hpp"
#include "calibrate/trainer/network.hpp"

namespace stepcast {
namespace {

class PacedNetwork : public Network {
 public:
  PacedNetwork(const Model& model, const Graph& graph, ComputeDevice& device, int micro_batch_size)
      : model_(model),
        device_(device),
        memory_(device),
        scale_(static_cast<double>(micro_batch_size) /
               static_cast<double>(model.measured->samples_per_micro_batch)),
        elements_(static_cast<double>(graph.parameter_count())) {
    int first = 0;
    for (const Layer& layer : model.layers) {
      const double bytes = scale_ * layer.activation_bytes.value_or(Bytes()).value;
      (void)memory_.take(std::llround(bytes / element_size(Dtype::fp32)), Dtype::fp32);
      first_parameter_.push_back(first);
      first += static_cast<int>(layer.parameters.size());
    }
  }

  void begin(int, int) override {}
  void forward(int layer) override { device_.pause(scale_ * *layer_of(layer).forward_time); }
  void backward(int layer, const ReadyHook& on_ready) override {
    const Layer& measured = layer_of(layer);
    const Seconds whole = *measured.backward_time;
    const Seconds until = std::min(whole, measured.gradient_ready_time.value_or(whole));
    device_.pause(scale_ * until);
    const int first = first_parameter_[static_cast<std::size_t>(layer)];
    for (int p = static_cast<int>(measured.parameters.size()); p-- > 0;) on_ready(first + p);
    if (until < whole) device_.pause(scale_ * (whole - until));
  }
  /// The measured time is that of all parameters: a stretch takes its share.
  void update(Tensor parameters, Tensor, Tensor, Tensor, int) override {
    device_.pause(static_cast<double>(parameters.count) / elements_ * model_.measured->optimizer_time);
  }
  double loss(int) override { return std::numeric_limits<double>::quiet_NaN(); }

 private:
  const Layer& layer_of(int layer) const { return model_.layers[static_cast<std::size_t>(layer)]; }

  const Model& model_;
  ComputeDevice& device_;
  DeviceMemory memory_;  ///< as much as the measured layers keep
  double scale_, elements_;
  std::vector<int> first_parameter_;
};

}  // namespace

std::unique_ptr<Network> paced_network(const Model& model, const Graph& graph, ComputeDevice& device,
                                       int micro_batch_size) {
  return std::make_unique<PacedNetwork>(model, graph, device, micro_batch_size);
}

}  // namespace stepcast
