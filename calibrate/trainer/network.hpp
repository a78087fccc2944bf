#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "calibrate/device.hpp"
#include "calibrate/trainer/graph.hpp"
#include "calibrate/trainer/samples.hpp"
#include "models/model.hpp"

namespace stepcast {

/// Where the parameters and their gradients lie while a layer runs, by number of the parameter. A strategy
/// owns the memory and moves the views.
struct ParameterViews {
  std::vector<Tensor> weights;    ///< of the compute type
  std::vector<Tensor> gradients;  ///< fp32
  std::vector<char> fresh;        ///< the next gradient replaces what is there, instead of adding to it

  /// Whether it replaces; from now on they add.
  [[nodiscard]] bool take_fresh(std::size_t parameter) { return std::exchange(fresh[parameter], 0) != 0; }
};

/// Runs a model's layers on one rank's samples. One layer at a time, so that strategies can gather weights
/// and launch collectives between them.
class Network {
 public:
  using ReadyHook = std::function<void(int parameter)>;
  Network() = default;
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;
  virtual ~Network() = default;

  virtual void begin(int step, int micro_batch) = 0;
  virtual void forward(int layer) = 0;
  /// Calls `on_ready` after the kernel that completes a parameter's gradient of this micro-batch.
  virtual void backward(int layer, const ReadyHook& on_ready) = 0;
  /// Updates a stretch of the parameters; all are fp32 and of one length.
  virtual void update(Tensor parameters, Tensor gradients, Tensor first, Tensor second, int step) = 0;
  /// Mean loss over this rank's samples of a step; NaN where nothing is computed.
  [[nodiscard]] virtual double loss(int step) = 0;
};

/// The model's operators. Gradients are those of the loss's mean over the rank's micro-batches.
/// @param steps  that `begin` may count to, from 0
[[nodiscard]] std::unique_ptr<Network> computed_network(const Graph& graph, ComputeDevice& device,
                                                        Dtype compute, const BatchPlace& place,
                                                        ParameterViews& views, std::uint64_t seed, int steps);
/// Layers that pause for their measured times; nothing is computed.
[[nodiscard]] std::unique_ptr<Network> paced_network(const Model& model, const Graph& graph,
                                                     ComputeDevice& device, int micro_batch_size);

}  // namespace stepcast
