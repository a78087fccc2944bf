#include "calibrate/trainer/graph.hpp"

#include <algorithm>
#include <map>
#include <string_view>

#include "sim/training/layers.hpp"

namespace stepcast {
namespace {

using Kind = GraphNode::Kind;

const std::map<std::string_view, Kind>& known_operators() {
  static const std::map<std::string_view, Kind> known = {
      {"embedding.tokens", Kind::embedding},
      {"embedding.positions", Kind::embedding},
      {"attention.norm", Kind::norm},
      {"mlp.norm", Kind::norm},
      {"head.norm", Kind::norm},
      {"attention.qkv", Kind::product},
      {"attention.qkv.bias", Kind::bias},
      {"attention.core", Kind::attention},
      {"attention.output", Kind::product},
      {"attention.output.bias", Kind::bias},
      {"attention.residual", Kind::residual},
      {"mlp.up", Kind::product},
      {"mlp.up.bias", Kind::bias},
      {"mlp.activation", Kind::activation},
      {"mlp.down", Kind::product},
      {"mlp.down.bias", Kind::bias},
      {"mlp.residual", Kind::residual},
      {"fc", Kind::product},
      {"fc.bias", Kind::bias},
      {"fc.activation", Kind::activation},
      {"head.logits", Kind::product},
      {"head.logits.bias", Kind::bias},
      {"loss.cross_entropy", Kind::loss},
  };
  return known;
}

class GraphReader {
 public:
  explicit GraphReader(const Model& model) : model_(model) {
    for (std::size_t layer = 0; layer < model.layers.size(); ++layer) {
      first_parameter_.push_back(static_cast<int>(graph_.parameters.size()));
      const std::vector<Parameter>& own = model.layers[layer].parameters;
      for (std::size_t index = 0; index < own.size(); ++index) {
        TrainedParameter parameter;
        parameter.layer = static_cast<int>(layer);
        parameter.index = static_cast<int>(index);
        parameter.count = own[index].count();
        parameter.rows = own[index].shape.empty() ? 1 : own[index].shape.front();
        graph_.parameters.push_back(parameter);
      }
    }
  }

  Graph read() {
    if (model_.measured) {
      for (std::size_t p = graph_.parameters.size(); p-- > 0;) {
        graph_.ready_order.push_back(static_cast<int>(p));
      }
      return std::move(graph_);
    }
    graph_.rows_per_sample = std::max<std::int64_t>(1, model_.sequence_length);
    for (layer_ = 0; layer_ < model_.layers.size() && graph_.unsupported.empty(); ++layer_) read_layer();
    if (graph_.unsupported.empty() && graph_.classes == 0) refuse("a model without cross entropy");
    if (!graph_.unsupported.empty()) return std::move(graph_);
    for (std::size_t layer = graph_.layers.size(); layer-- > 0;) {
      const std::vector<GraphNode>& nodes = graph_.layers[layer];
      for (std::size_t i = nodes.size(); i-- > 0;) {
        graph_.ready_order.insert(graph_.ready_order.end(), nodes[i].completed.begin(),
                                  nodes[i].completed.end());
      }
    }
    return std::move(graph_);
  }

 private:
  void refuse(const std::string& what) {
    if (graph_.unsupported.empty()) graph_.unsupported = what;
  }
  void refuse(const Operator& op, const std::string& why) { refuse("operator " + op.name + " " + why); }

  void read_layer() {
    const Layer& layer = model_.layers[layer_];
    const std::vector<std::vector<int>> completed = completed_by_operator(layer);
    graph_.layers.emplace_back();
    branch_open_ = false;
    std::size_t named = 0;
    for (std::size_t i = 0; i < layer.operators.size() && graph_.unsupported.empty(); ++i) {
      read_operator(layer, layer.operators[i]);
      if (!graph_.unsupported.empty()) return;
      // A node may stand for two operators (tokens and positions): the later one's gradients come first.
      std::vector<int>& ready = graph_.layers.back().back().completed;
      std::vector<int> own = completed[i];
      for (int& parameter : own) parameter += first_parameter_[layer_];
      named += own.size();
      ready.insert(ready.begin(), own.begin(), own.end());
    }
    if (!graph_.unsupported.empty()) return;
    if (branch_open_) refuse("layer " + layer.name + ", a norm without a residual,");
    if (named != layer.parameters.size())
      refuse("layer " + layer.name + ", a parameter that no operator names,");
  }

  void read_operator(const Layer& layer, const Operator& op) {
    const auto known = known_operators().find(op.name);
    if (known == known_operators().end()) return refuse("operator " + op.name);
    GraphNode node;
    node.kind = known->second;
    node.columns = features_;
    std::vector<int> parameters = op.parameters;
    for (int& parameter : parameters) parameter += first_parameter_[layer_];
    switch (node.kind) {
      case Kind::embedding:
        return embedding(op, parameters);
      case Kind::norm:
        // Only layer norms have a bias.
        if (parameters.size() != 2) return refuse(op, "without a bias");
        node.weight = parameters[0];
        node.second = parameters[1];
        parameter(node.weight).start = TrainedParameter::Start::one;
        parameter(node.second).start = TrainedParameter::Start::zero;
        if (layer.kind == LayerKind::block) {
          if (branch_open_) return refuse(op, "beside another branch");
          branch_open_ = true;
          graph_.stream_features = features_;
        }
        break;
      case Kind::product:
        if (!product(op, parameters, node)) return;
        break;
      case Kind::bias:
        if (parameters.size() != 1) return refuse(op, "as it is here");
        node.weight = parameters[0];
        parameter(node.weight).start = TrainedParameter::Start::zero;
        break;
      case Kind::attention:
        if (!attention(op, node)) return;
        break;
      case Kind::activation: {
        // The product before keeps no result where the activation's backward needs only its own: ReLU.
        const GraphNode* before = graph_.layers.back().empty() ? nullptr : &graph_.layers.back().back();
        if (before == nullptr) return refuse(op, "at the start of a layer");
        node.activation = last_product_kept_ > 0 ? PointWise::gelu : PointWise::relu;
        break;
      }
      case Kind::residual:
        if (op.saved_eager.bytes > 0) return refuse(op, "with dropout");
        if (!branch_open_) return refuse(op, "without a norm before it");
        branch_open_ = false;
        break;
      case Kind::loss:
        graph_.classes = features_;
        break;
    }
    features_ = node.columns;
    graph_.layers.back().push_back(std::move(node));
  }

  void embedding(const Operator& op, const std::vector<int>& parameters) {
    if (parameters.size() != 1) return refuse(op, "as it is here");
    const Parameter& table = parameter_of(parameters[0]);
    if (op.name == "embedding.positions") {
      if (graph_.layers.back().empty()) return refuse(op, "as it is here");
      if (table.shape[0] < graph_.rows_per_sample) return refuse(op, "with fewer rows than tokens");
      graph_.layers.back().back().second = parameters[0];
      positions_ = true;
      return;
    }
    GraphNode node;
    node.kind = Kind::embedding;
    node.weight = parameters[0];
    node.columns = features_ = table.shape.at(1);
    token_table_ = parameters[0];
    graph_.layers.back().push_back(std::move(node));
  }

  bool product(const Operator& op, const std::vector<int>& parameters, GraphNode& node) {
    const GemmWork& work = op.gemm;
    const bool tied = op.name == "head.logits" && parameters.empty() && model_.tied_head && token_table_ >= 0;
    if (op.kind != OperatorKind::gemm || work.groups != 1 || !work.has_weight ||
        (parameters.size() != 1 && !tied)) {
      refuse(op, "as it is here");
      return false;
    }
    if (work.rows != static_cast<double>(graph_.rows_per_sample)) {
      refuse(op, "on some of the tokens");
      return false;
    }
    if (features_ == 0) graph_.input_features = features_ = work.depth;
    node.weight = tied ? token_table_ : parameters[0];
    node.columns = work.columns;
    node.depth = work.depth;
    node.input_gradient = work.input_gradient;
    const std::vector<std::int64_t>& shape = parameter_of(node.weight).shape;
    if (shape == std::vector{work.columns, work.depth}) {
      node.input_by_output = false;
    } else if (shape == std::vector{work.depth, work.columns}) {
      node.input_by_output = true;
    } else {
      refuse(op, "with a weight of another shape");
      return false;
    }
    if (features_ != work.depth) {
      refuse(op, "on rows of another width");
      return false;
    }
    if (!tied) parameter(node.weight).fan_in = work.depth;
    if (node.input_gradient) graph_.widest_gradient = std::max(graph_.widest_gradient, work.depth);
    last_product_kept_ = op.saved_eager.elements;
    return true;
  }

  bool attention(const Operator& op, GraphNode& node) {
    const AttentionWork& work = op.attention;
    const char* why = !work.causal                                       ? "without a causal mask"
                      : work.key_value_heads != work.query_heads         ? "with grouped queries"
                      : work.window > 0 && work.window < work.key_length ? "with a window"
                      : work.dropout_masks > 0                           ? "with dropout"
                      : work.head_dim != work.value_dim                  ? "with values of another width"
                      : features_ != 3 * work.query_heads * work.head_dim
                          ? "without fused queries, keys, values"
                      : !positions_ ? "without learned positions"
                                    : nullptr;
    if (why != nullptr) {
      refuse(op, why);
      return false;
    }
    node.heads = work.query_heads;
    node.head_dim = work.head_dim;
    node.columns = node.heads * node.head_dim;
    graph_.widest_gradient = std::max(graph_.widest_gradient, 3 * node.columns);
    return true;
  }

  const Parameter& parameter_of(int number) const {
    const TrainedParameter& place = graph_.parameters[static_cast<std::size_t>(number)];
    return model_.layers[static_cast<std::size_t>(place.layer)]
        .parameters[static_cast<std::size_t>(place.index)];
  }
  TrainedParameter& parameter(int number) { return graph_.parameters[static_cast<std::size_t>(number)]; }

  const Model& model_;
  Graph graph_;
  std::vector<int> first_parameter_;
  std::size_t layer_{};
  std::int64_t features_{};
  bool branch_open_{}, positions_{};
  double last_product_kept_{};
  int token_table_{-1};
};

}  // namespace

std::int64_t Graph::parameter_count() const {
  std::int64_t sum = 0;
  for (const TrainedParameter& parameter : parameters) sum += parameter.count;
  return sum;
}

Graph read_graph(const Model& model) { return GraphReader(model).read(); }

}  // namespace stepcast
