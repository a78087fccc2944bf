#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/document.hpp"
#include "base/units.hpp"
#include "sim/validate/measured_row.hpp"
#include "sim/validate/rules.hpp"
#include "sim/validate/statistics.hpp"

namespace stepcast {

/// A published measurement beside our prediction of it.
struct ValidatedRow {
  std::string file;
  unsigned line{};
  Seconds predicted, measured;  ///< one optimizer step
  double relative_error{};      ///< predicted / measured - 1
  std::vector<std::string> assumed;
  std::vector<std::pair<std::string, Value>> settings;  ///< dotted keys of the scenario that was run
  std::string source, gpu, model, software, strategy;
  int gpus{};
  bool fits{};          ///< whether the prediction says that it fits into memory (it ran)
  double rate_share{};  ///< samples of the global batch over GPUs: over step seconds, a rate a GPU
  std::vector<std::string> groups;
};

struct SkippedMeasurement {
  std::string file;
  unsigned line{};
  std::string reason;
};

struct Validation {
  std::vector<ValidatedRow> rows;  ///< in the order of the files
  std::vector<SkippedMeasurement> skipped;
  std::vector<GroupSummary>
      summary;  ///< all, stated, assumed; then source:, gpu:, model:, software:, strategy:, scale:
  std::vector<std::string> notes;
};

struct ValidateOptions {
  int jobs{};  ///< threads; 0: all cores
  const std::atomic<bool>* cancel{};
  std::function<void(std::size_t done, std::size_t total)> progress;
};

/// Predicts every row that the mapping can turn into a scenario. The result does not depend on `jobs`.
[[nodiscard]] Validation validate(const std::vector<MeasuredTable>& tables, const Mapping& mapping,
                                  const ValidateOptions& options);

/// "scale:1 GPU", "scale:one node", "scale:up to 64 GPUs", "scale:up to 512 GPUs", "scale:above 512 GPUs".
[[nodiscard]] std::string scale_group(int gpus, int nodes);

}  // namespace stepcast
