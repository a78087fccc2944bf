#pragma once

#include <string>
#include <vector>

#include "base/document.hpp"
#include "base/units.hpp"
#include "sim/validate/measured_row.hpp"
#include "sim/validate/rules.hpp"

namespace stepcast {

/// A published measurement as a question that `stepcast run` can be asked.
struct MappedRow {
  Value scenario;                    ///< a scenario document, as load_scenario reads it from a file
  Seconds measured;                  ///< of one optimizer step
  std::vector<std::string> assumed;  ///< what the row does not say and a rule filled in
  std::string source, gpu, model, software, strategy;  ///< canonical names, for groups
  int gpus{}, nodes{};
};

/// The scenario of a row, by the rules of `mapping`.
/// @throws SkippedRow when the row can't be compared, with the reason
[[nodiscard]] MappedRow map_row(const MeasuredRow& row, const Mapping& mapping);

/// Every key of a scenario document with its dotted path ("cluster.nodes"), in order.
[[nodiscard]] std::vector<std::pair<std::string, Value>> settings_of(const Value& scenario);

}  // namespace stepcast
