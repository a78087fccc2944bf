#pragma once

#include <string>

#include "models/architecture.hpp"
#include "models/model.hpp"

namespace stepcast {

/// A multi-layer perceptron, as `stepcast verify` trains one: `layers` products with bias and activation, a
/// classifier with cross entropy. A sample is a vector of `inputs`; the first product needs no input
/// gradient.
[[nodiscard]] Model build_mlp(const MlpArchitecture& shape, std::string name);

}  // namespace stepcast
