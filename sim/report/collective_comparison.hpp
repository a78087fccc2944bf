#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/report/collective_fit.hpp"
#include "sim/report/collective_table.hpp"
#include "sim/scenario/scenario.hpp"

namespace stepcast {

/// A measured nccl-tests table beside our prediction.
struct CollectiveComparison {
  Operation operation{};
  int ranks{};
  std::string log;  ///< where the measurements come from
  bool in_place{};  ///< which half of its rows
  struct Row {
    Seconds measured;
    CollectiveRow predicted;
    std::optional<CollectiveRow> corrected;  ///< by measured sizes
    bool fitted{};                           ///< one of the sizes that correct the model: not judged
  };
  std::vector<Row> rows;
  std::optional<MeasuredCollective> fit;  ///< the sizes that correct the model
};

/// Predicts every measured size; with `fit` also by the model corrected at five of them, which is what
/// `run --profile` computes with when it is given them.
[[nodiscard]] CollectiveComparison compare_collective(const Scenario& scenario, Operation operation,
                                                      const MeasuredTimes& times, bool fit);

[[nodiscard]] std::string to_text(const CollectiveComparison& comparison);
[[nodiscard]] std::string to_json(const CollectiveComparison& comparison);

/// Measured collectives as a profile file.
[[nodiscard]] std::string profile_text(const std::vector<MeasuredCollective>& measured);
/// One of them, the section alone.
[[nodiscard]] std::string section_text(const MeasuredCollective& measured);

}  // namespace stepcast
