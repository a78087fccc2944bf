#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "models/counting.hpp"
#include "models/model.hpp"
#include "models/module_names.hpp"

namespace stepcast {

/// Collects the operators of one layer in forward order, and its parameters; build() puts the parameters into
/// the family's registration order and points the operators at them.
class LayerBuilder {
 public:
  LayerBuilder(std::string name, LayerKind kind, const std::vector<ModuleName>* modules);

  /// Of a module of the block, placed by its role; `expert` is set for the modules of one expert.
  int parameter(Role role, std::string_view suffix, std::vector<std::int64_t> shape,
                std::int64_t expert = -1);
  /// Of a layer without roles (embedding, head), after those added before.
  int parameter(std::string name, std::vector<std::int64_t> shape);

  /// Each returns the new operator for further settings; it stays valid until the next call.
  Operator& gemm(std::string name, double rows, std::int64_t columns, std::int64_t depth,
                 std::vector<int> parameters, double saved_elements);
  Operator& memory(std::string name, const counting::Counted& counted, std::vector<int> parameters = {});
  Operator& add(Operator op);

  /// @param output_elements  per sample: what crosses to the next layer
  [[nodiscard]] Layer build(double output_elements);

 private:
  using Place = std::tuple<int, std::int64_t, int>;  ///< group, expert, order of addition or role
  Layer layer_;
  const std::vector<ModuleName>* modules_;
  std::vector<Place> places_;
};

/// Sets first_equal of every layer: the first one with the same operators and parameters.
void link_equal_layers(Model& model);

}  // namespace stepcast
