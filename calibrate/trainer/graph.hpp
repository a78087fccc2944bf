#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calibrate/device.hpp"
#include "models/model.hpp"

namespace stepcast {

/// A parameter tensor of the whole model. Parameters are numbered in registration order, as the simulator
/// numbers them.
struct TrainedParameter {
  int layer{}, index{};   ///< of Model::layers and Layer::parameters
  std::int64_t count{};   ///< elements
  std::int64_t rows{1};   ///< its first dimension
  std::int64_t fan_in{};  ///< summands of a product with it; 0: no matrix
  enum class Start { random, zero, one } start{Start::random};
};

/// One operator of the model, as the trainer runs it on rows of features.
struct GraphNode {
  enum class Kind { embedding, norm, product, bias, attention, activation, residual, loss } kind{};
  int weight{-1};  ///< embedding: token table; norm, product: its weight; bias: the bias
  int second{-1};  ///< embedding: position table; norm: its bias
  std::vector<int>
      completed;              ///< parameters whose gradients are complete once its backward has run, in order
  std::int64_t columns{};     ///< features of a row of its result
  std::int64_t depth{};       ///< features of a row that a product reads
  bool input_by_output{};     ///< a product's weight is stored [in, out], not [out, in]
  bool input_gradient{true};  ///< false: the product reads data
  PointWise activation{};
  std::int64_t heads{}, head_dim{};  ///< of attention
};

/// The simulator's model as something to run: its layers, their operators in forward order. A norm inside a
/// block opens a branch, which its residual closes.
struct Graph {
  std::vector<std::vector<GraphNode>> layers;
  std::vector<TrainedParameter> parameters;
  std::vector<int> ready_order;     ///< parameters in the order in which backward completes their gradients
  std::int64_t rows_per_sample{1};  ///< tokens
  std::int64_t input_features{};    ///< of a model without embedding
  std::int64_t classes{};           ///< of the logits
  std::int64_t widest_gradient{};   ///< features of the widest gradient that backward makes inside a layer
  std::int64_t stream_features{};   ///< of the residual stream; 0: none
  std::string unsupported;          ///< what of the model isn't built into the trainer; empty: nothing

  [[nodiscard]] std::int64_t parameter_count() const;
};

/// Of a measured workload: no nodes, parameters become ready in reverse registration order.
[[nodiscard]] Graph read_graph(const Model& model);

}  // namespace stepcast
