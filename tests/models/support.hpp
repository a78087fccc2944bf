#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>

#include "models/build_model.hpp"

namespace stepcast {

/// Where requests of these tests seem to stand.
inline SourcePlace request_place() {
  SourcePlace place;
  place.file = "scenario.toml";
  place.line = 3;
  place.column = 10;
  return place;
}

inline Model preset(const std::string& name, std::optional<std::int64_t> sequence_length = std::nullopt) {
  ModelRequest request;
  request.preset = name;
  request.sequence_length = sequence_length;
  return build_model(request, request_place());
}

inline const Operator& operator_named(const Layer& layer, const std::string& name) {
  for (const Operator& op : layer.operators) {
    if (op.name == name) return op;
  }
  throw std::out_of_range("no operator " + name + " in " + layer.name);
}

/// The faults that `action` throws; none when it throws nothing.
template <class Action>
std::vector<Diagnostic> faults_of(Action action) {
  try {
    action();
  } catch (const ScenarioError& error) {
    return error.diagnostics();
  }
  return {};
}

}  // namespace stepcast
