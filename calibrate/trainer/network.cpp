#include "calibrate/trainer/network.hpp"

#include <algorithm>
#include <utility>

#include "calibrate/trainer/device_memory.hpp"

namespace stepcast {
namespace {

using Kind = GraphNode::Kind;

/// What a node keeps from its forward to its backward.
struct Kept {
  Tensor input, output;  ///< the same memory for operators that work in place
  Tensor saved;          ///< statistics of a norm, what attention saves
};

class ComputedNetwork : public Network {
 public:
  ComputedNetwork(const Graph& graph, ComputeDevice& device, Dtype compute, const BatchPlace& place,
                  ParameterViews& views, std::uint64_t seed, int steps)
      : graph_(graph),
        device_(device),
        memory_(device),
        compute_(compute),
        place_(place),
        views_(views),
        samples_(graph, seed),
        rows_(graph.rows_per_sample * place.micro_batch_size) {
    losses_ = memory_.take(steps, Dtype::fp32);
    targets_ = memory_.take(rows_, Dtype::fp32);  // int32 ids, as wide
    if (graph.input_features > 0) {
      input_ = memory_.take(rows_ * graph.input_features, compute_);
    } else {
      tokens_ = memory_.take(rows_, Dtype::fp32);
    }
    keep_activations();
    for (Tensor& scratch : scratch_) scratch = memory_.take(rows_ * graph.widest_gradient, compute_);
    if (graph.stream_features > 0) stream_ = memory_.take(rows_ * graph.stream_features, compute_);
  }

  void begin(int step, int micro_batch) override {
    const MicroBatch batch =
        samples_.micro_batch(step, place_.first_sample(micro_batch), place_.micro_batch_size);
    device_.upload_ids(targets_.data, batch.targets.data(), rows_);
    if (graph_.input_features > 0) {
      device_.upload(input_, batch.features.data());
    } else {
      device_.upload_ids(tokens_.data, batch.tokens.data(), rows_);
    }
    loss_ = losses_.part(step, 1);
  }

  void forward(int layer) override {
    const auto& nodes = graph_.layers[static_cast<std::size_t>(layer)];
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      forward(nodes[i], kept_[static_cast<std::size_t>(layer)][i]);
    }
  }

  void backward(int layer, const ReadyHook& on_ready) override {
    const auto& nodes = graph_.layers[static_cast<std::size_t>(layer)];
    for (std::size_t i = nodes.size(); i-- > 0;) {
      backward(nodes[i], kept_[static_cast<std::size_t>(layer)][i]);
      for (const int parameter : nodes[i].completed) on_ready(parameter);
    }
  }

  void update(Tensor parameters, Tensor gradients, Tensor first, Tensor second, int step) override {
    AdamW settings;
    settings.step = step + 1;
    device_.adamw(parameters, gradients, first, second, settings);
  }

  double loss(int step) override {
    float value = 0;
    device_.download(losses_.part(step, 1), &value);
    return value;
  }

 private:
  Tensor rows_of(std::int64_t features) { return memory_.take(rows_ * features, compute_); }
  Tensor weight(int parameter) const { return views_.weights[static_cast<std::size_t>(parameter)]; }

  [[nodiscard]] AttentionCall attention_call(const GraphNode& node, const Kept& kept) const {
    return {kept.input, kept.output,   kept.saved, place_.micro_batch_size, graph_.rows_per_sample,
            node.heads, node.head_dim, true};
  }

  /// All results that some backward reads have memory of their own. Biases work in place; a residual adds
  /// into the branch's result, which nobody else reads; so does ReLU, whose backward needs its result only.
  void keep_activations() {
    Tensor current = input_, stream;
    for (const auto& nodes : graph_.layers) {
      auto& kept_of_layer = kept_.emplace_back();
      stream = current;
      for (const GraphNode& node : nodes) {
        Kept kept;
        kept.input = kept.output = current;
        switch (node.kind) {
          case Kind::embedding:
          case Kind::product:
            kept.output = rows_of(node.columns);
            break;
          case Kind::norm:
            kept.output = rows_of(node.columns);
            kept.saved = memory_.take(2 * rows_, Dtype::fp32);
            break;
          case Kind::attention:
            kept.output = rows_of(node.columns);
            kept.saved = memory_.take(device_.attention_saved(attention_call(node, kept)), compute_);
            break;
          case Kind::activation:
            if (node.activation != PointWise::relu) kept.output = rows_of(node.columns);
            break;
          case Kind::residual:
            kept.saved = stream;
            stream = current;
            break;
          case Kind::bias:
          case Kind::loss:
            break;
        }
        current = kept.output;
        kept_of_layer.push_back(kept);
      }
    }
  }

  void forward(const GraphNode& node, const Kept& kept) {
    switch (node.kind) {
      case Kind::embedding:
        device_.embedding_forward(tokens_.data, weight(node.weight),
                                  node.second >= 0 ? weight(node.second) : Tensor{}, kept.output, rows_,
                                  graph_.rows_per_sample);
        break;
      case Kind::norm:
        device_.norm_forward(kept.input, weight(node.weight), weight(node.second), kept.output, kept.saved,
                             rows_);
        break;
      case Kind::product: {
        GemmCall call{kept.input, weight(node.weight), kept.output, rows_, node.columns, node.depth};
        call.transpose_b = !node.input_by_output;
        device_.gemm(call);
        break;
      }
      case Kind::bias:
        device_.bias_forward(kept.output, weight(node.weight), rows_);
        break;
      case Kind::attention:
        device_.attention_forward(attention_call(node, kept));
        break;
      case Kind::activation:
        device_.activation_forward(node.activation, kept.input, kept.output);
        break;
      case Kind::residual:
        device_.add(kept.saved, kept.output, kept.output);
        break;
      case Kind::loss:
        device_.cross_entropy(kept.output, targets_.data, loss_, rows_,
                              1.0F / static_cast<float>(place_.micro_batches));
        gradient_ = kept.output;
        break;
    }
  }

  void backward(const GraphNode& node, const Kept& kept) {
    switch (node.kind) {
      case Kind::embedding:
        device_.embedding_backward(tokens_.data, gradient_, added_to(node.weight),
                                   node.second >= 0 ? added_to(node.second) : Tensor{}, rows_,
                                   graph_.rows_per_sample);
        break;
      case Kind::norm:
        norm_backward(node, kept);
        break;
      case Kind::product:
        product_backward(node, kept);
        break;
      case Kind::bias:
        device_.bias_backward(gradient_, added_to(node.weight), rows_);
        break;
      case Kind::attention: {
        const Tensor of_qkv = free_scratch(3 * node.columns);
        device_.attention_backward(attention_call(node, kept), gradient_, of_qkv);
        gradient_ = of_qkv;
        break;
      }
      case Kind::activation:
        device_.activation_backward(node.activation, kept.input, gradient_, gradient_);
        break;
      case Kind::residual:
        // The branch reads the stream's gradient and adds its own to it where it began.
        in_branch_ = true;
        break;
      case Kind::loss:
        break;  // the forward has left the gradient in place of the logits
    }
  }

  void norm_backward(const GraphNode& node, const Kept& kept) {
    const Tensor stream = stream_.part(0, rows_ * node.columns);
    const Tensor of_input = in_branch_ ? free_scratch(node.columns) : stream;
    device_.norm_backward(kept.input, weight(node.weight), kept.saved, gradient_, of_input,
                          added_to(node.weight), added_to(node.second), rows_);
    if (in_branch_) device_.add(stream, of_input, stream);
    in_branch_ = false;
    gradient_ = stream;
  }

  void product_backward(const GraphNode& node, const Kept& kept) {
    const Tensor of_output = gradient_;
    if (node.input_gradient) {
      gradient_ = free_scratch(node.depth);
      GemmCall call{of_output, weight(node.weight), gradient_, rows_, node.depth, node.columns};
      call.transpose_b = node.input_by_output;
      device_.gemm(call);
    }
    const std::size_t place = static_cast<std::size_t>(node.weight);
    GemmCall call{of_output, kept.input, views_.gradients[place], node.columns, node.depth, rows_};
    if (node.input_by_output) {
      std::swap(call.a, call.b);
      std::swap(call.rows, call.columns);
    }
    call.transpose_a = true;
    call.accumulate = !views_.take_fresh(place);
    device_.gemm(call);
  }

  /// A gradient that kernels add to: zero before its first.
  Tensor added_to(int parameter) {
    const std::size_t place = static_cast<std::size_t>(parameter);
    if (views_.take_fresh(place)) device_.zero(views_.gradients[place]);
    return views_.gradients[place];
  }

  Tensor free_scratch(std::int64_t features) {
    const bool first_is_taken = gradient_.data == scratch_[0].data;
    return scratch_[first_is_taken ? 1 : 0].part(0, rows_ * features);
  }

  const Graph& graph_;
  ComputeDevice& device_;
  DeviceMemory memory_;
  Dtype compute_;
  BatchPlace place_;
  ParameterViews& views_;
  Samples samples_;
  std::int64_t rows_;
  Tensor losses_, loss_, targets_, tokens_, input_;
  std::vector<std::vector<Kept>> kept_;
  Tensor scratch_[2], stream_;
  Tensor gradient_;   ///< of the result of the node that runs next in backward
  bool in_branch_{};  ///< `gradient_` is behind a residual whose norm has not run yet
};

}  // namespace

std::unique_ptr<Network> computed_network(const Graph& graph, ComputeDevice& device, Dtype compute,
                                          const BatchPlace& place, ParameterViews& views, std::uint64_t seed,
                                          int steps) {
  return std::make_unique<ComputedNetwork>(graph, device, compute, place, views, seed, steps);
}

}  // namespace stepcast
