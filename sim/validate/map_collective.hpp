#pragma once

#include <string>
#include <vector>

#include "base/document.hpp"
#include "sim/collective/collective.hpp"
#include "sim/validate/measured_row.hpp"
#include "sim/validate/rules.hpp"

namespace stepcast {

/// A published time of one collective as a question to the model.
struct MappedCollective {
  Value scenario;  ///< a document with [cluster] and [nccl]
  Operation operation{};
  int ranks{}, nodes{};
  Bytes bytes;  ///< as nccl-tests counts
  Seconds measured;
  Seconds harness;  ///< of the measurement that is not the collective's
  bool in_place{};
  std::vector<std::string> assumed;  ///< what the row does not say and a rule filled in
  std::string set, transport, gpu, timing;
};

/// The rules that the program ships (sim/validate/collective_rules.toml).
[[nodiscard]] const Mapping& shipped_collective_rules();
/// What such a file may hold.
[[nodiscard]] const MappingSchema& collective_schema();

/// @throws SkippedRow when the row can't be compared, with the reason
[[nodiscard]] MappedCollective map_collective(const MeasuredRow& row, const Mapping& rules);

}  // namespace stepcast
