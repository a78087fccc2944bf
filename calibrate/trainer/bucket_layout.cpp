#include "calibrate/trainer/bucket_layout.hpp"

#include <utility>

#include "sim/training/buckets.hpp"

namespace stepcast {

BucketLayout bucket_layout(const StrategyInputs& inputs, int slices) {
  const Graph& graph = inputs.graph;
  std::vector<BucketItem> items;
  for (const int parameter : graph.ready_order) {
    const auto count = static_cast<double>(graph.parameters[static_cast<std::size_t>(parameter)].count);
    items.push_back({element_size(Dtype::fp32) * count, 0});
  }
  BucketLayout layout;
  layout.slices = slices;
  layout.bucket_of.resize(graph.parameters.size());
  layout.offsets.resize(graph.parameters.size());
  std::int64_t next = 0;
  for (const Bucket& bucket :
       reducer_buckets(items, inputs.training.first_bucket_size.value, inputs.training.bucket_size.value)) {
    layout.starts.push_back(next);
    for (const int item : bucket.items) {
      const auto parameter = static_cast<std::size_t>(graph.ready_order[static_cast<std::size_t>(item)]);
      layout.bucket_of[parameter] = static_cast<int>(layout.starts.size()) - 1;
      layout.offsets[parameter] = next;
      next += graph.parameters[parameter].count;
    }
    next = layout.starts.back() + (next - layout.starts.back() + slices - 1) / slices * slices;
    layout.elements.push_back(next - layout.starts.back());
  }
  return layout;
}

void place_weights(const StrategyInputs& inputs, const BucketLayout& layout, Tensor flat, Tensor compute) {
  ParameterViews& views = inputs.views;
  views.weights.clear();
  for (std::size_t p = 0; p < layout.offsets.size(); ++p) {
    const TrainedParameter& parameter = inputs.graph.parameters[p];
    views.weights.push_back(compute.part(layout.offsets[p], parameter.count));
    if (inputs.model.measured) continue;
    const std::vector<float> values = starting_values(parameter, static_cast<int>(p), inputs.seed);
    inputs.backend.device().upload(flat.part(layout.offsets[p], parameter.count), values.data());
  }
  if (compute.data != flat.data) inputs.backend.device().copy(flat, compute);
}

void place_gradients(const StrategyInputs& inputs, const BucketLayout& layout, Tensor flat) {
  ParameterViews& views = inputs.views;
  views.gradients.clear();
  for (std::size_t p = 0; p < layout.offsets.size(); ++p) {
    views.gradients.push_back(flat.part(layout.offsets[p], inputs.graph.parameters[p].count));
  }
}

void GradientBuckets::begin(Operation operation, Output output) {
  operation_ = operation;
  output_ = std::move(output);
  launched_.clear();
  pending_.assign(layout_.size(), 0);
  for (const int bucket : layout_.bucket_of) ++pending_[static_cast<std::size_t>(bucket)];
}

void GradientBuckets::ready(int parameter) {
  const auto place = static_cast<std::size_t>(parameter);
  const Tensor gradient = inputs_.views.gradients[place];
  inputs_.backend.device().copy(gradient, flat_.part(layout_.offsets[place], gradient.count),
                                1.0F / static_cast<float>(inputs_.world));
  --pending_[static_cast<std::size_t>(layout_.bucket_of[place])];
  while (launched_.size() < layout_.size() && pending_[launched_.size()] == 0) {
    const std::size_t bucket = launched_.size();
    launched_.push_back(communicator_.start({operation_, layout_.bucket(flat_, bucket), output_(bucket)}));
  }
}

void GradientBuckets::wait(std::size_t bucket) { inputs_.clock.wait(communicator_, launched_[bucket]); }

}  // namespace stepcast
