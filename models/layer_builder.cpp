#include "models/layer_builder.hpp"

#include <algorithm>
#include <numeric>

#include "base/diagnostic.hpp"

namespace stepcast {

LayerBuilder::LayerBuilder(std::string name, LayerKind kind, const std::vector<ModuleName>* modules)
    : modules_(modules) {
  layer_.name = std::move(name);
  layer_.kind = kind;
}

int LayerBuilder::parameter(Role role, std::string_view suffix, std::vector<std::int64_t> shape,
                            std::int64_t expert) {
  STEPCAST_CHECK(modules_ != nullptr, "a role needs the family's modules");
  const auto found =
      std::find_if(modules_->begin(), modules_->end(), [role](const auto& m) { return m.role == role; });
  STEPCAST_CHECK(found != modules_->end(), "the family has no module of this role");
  const int position = static_cast<int>(found - modules_->begin());
  std::string name(found->name);
  int group = position;
  const bool of_expert = expert >= 0;
  if (of_expert) {
    // "experts.|.w1": experts are registered one after the other, each with all its modules.
    const auto bar = name.find('|');
    name = name.substr(0, bar) + std::to_string(expert) + name.substr(bar + 1);
    const auto first = std::find_if(modules_->begin(), modules_->end(), [](const auto& m) {
      return m.role == Role::expert_gate || m.role == Role::expert_up || m.role == Role::expert_down;
    });
    group = static_cast<int>(first - modules_->begin());
  }
  Parameter parameter{name + std::string(suffix), std::move(shape), of_expert};
  layer_.parameters.push_back(std::move(parameter));
  places_.emplace_back(group, of_expert ? expert : 0, position);
  return static_cast<int>(layer_.parameters.size()) - 1;
}

int LayerBuilder::parameter(std::string name, std::vector<std::int64_t> shape) {
  layer_.parameters.push_back({std::move(name), std::move(shape), false});
  places_.emplace_back(0, 0, 0);
  return static_cast<int>(layer_.parameters.size()) - 1;
}

Operator& LayerBuilder::add(Operator op) {
  layer_.operators.push_back(std::move(op));
  return layer_.operators.back();
}

Operator& LayerBuilder::gemm(std::string name, double rows, std::int64_t columns, std::int64_t depth,
                             std::vector<int> parameters, double saved_elements) {
  Operator op;
  op.name = std::move(name);
  op.kind = OperatorKind::gemm;
  op.gemm.rows = rows;
  op.gemm.columns = columns;
  op.gemm.depth = depth;
  op.saved_eager.elements = op.saved_fused.elements = saved_elements;
  op.parameters = std::move(parameters);
  return add(std::move(op));
}

Operator& LayerBuilder::memory(std::string name, const counting::Counted& counted,
                               std::vector<int> parameters) {
  Operator op;
  op.name = std::move(name);
  op.memory = counted.work;
  op.saved_eager = counted.eager;
  op.saved_fused = counted.fused;
  op.parameters = std::move(parameters);
  return add(std::move(op));
}

Layer LayerBuilder::build(double output_elements) {
  std::vector<int> order(layer_.parameters.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [this](int a, int b) {
    return places_[static_cast<std::size_t>(a)] < places_[static_cast<std::size_t>(b)];
  });
  std::vector<Parameter> sorted;
  std::vector<int> new_index(order.size());
  sorted.reserve(order.size());
  for (const int old : order) {
    new_index[static_cast<std::size_t>(old)] = static_cast<int>(sorted.size());
    sorted.push_back(std::move(layer_.parameters[static_cast<std::size_t>(old)]));
  }
  layer_.parameters = std::move(sorted);
  for (Operator& op : layer_.operators) {
    for (int& index : op.parameters) index = new_index[static_cast<std::size_t>(index)];
  }
  layer_.output_elements = output_elements;
  return std::move(layer_);
}

void link_equal_layers(Model& model) {
  std::vector<int> distinct;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    Layer& layer = model.layers[i];
    layer.first_equal = static_cast<int>(i);
    for (const int candidate : distinct) {
      const Layer& other = model.layers[static_cast<std::size_t>(candidate)];
      if (other.kind == layer.kind && other.buffers == layer.buffers && other.operators == layer.operators &&
          other.parameters == layer.parameters && other.output_elements == layer.output_elements) {
        layer.first_equal = candidate;
        break;
      }
    }
    if (layer.first_equal == static_cast<int>(i)) distinct.push_back(static_cast<int>(i));
  }
}

}  // namespace stepcast
