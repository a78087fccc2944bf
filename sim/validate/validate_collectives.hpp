#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/collective/collective.hpp"
#include "sim/validate/rules.hpp"
#include "sim/validate/validate.hpp"

namespace stepcast {

/// A published time of one collective beside our prediction of it.
struct ValidatedCollective {
  std::string file;
  unsigned line{};
  Seconds predicted, measured;
  double relative_error{};  ///< predicted / measured - 1
  Seconds low, high;        ///< 5-95 % interval of the prediction
  /// By the model corrected at five measured sizes of the same set; nothing at those, and for sets with too
  /// few.
  std::optional<Seconds> corrected;
  std::vector<std::string> assumed;
  std::vector<std::pair<std::string, Value>> settings;  ///< dotted keys of the scenario
  std::string set, transport, gpu, timing;
  Operation operation{};
  int ranks{}, nodes{};
  Bytes bytes;
  bool in_place{};
  Algorithm algorithm{};
  Protocol protocol{};
  int channels{};
  Seconds harness;  ///< part of `predicted` that is the benchmark's, not the collective's
  bool judged{};    ///< of a set with 20 rows or more whose times are as they were measured
  std::vector<std::string> groups;
};

/// How often measurements of a band lie inside the interval that the program prints, and what it would have
/// to be.
struct BandResiduals {
  std::string band;
  int rows{}, inside{};
  std::optional<double> low, high;                      ///< 5 % and 95 % of measured / predicted
  std::optional<double> corrected_low, corrected_high;  ///< likewise of measured / corrected
};

struct CollectiveValidation {
  std::vector<ValidatedCollective> rows;  ///< in the order of the files
  std::vector<SkippedMeasurement> skipped;
  /// all, stated, assumed; then by the prefixes of collective_summary_parts().
  std::vector<GroupSummary> summary;
  std::vector<BandResiduals> residuals;  ///< of judged rows with nothing assumed
  std::vector<std::string> notes;
};

/// Predicts every row that the rules can turn into a cluster. The result does not depend on `jobs`.
///
/// Groups beside those of kind (set, transport, operation, GPU, band):
/// - "judged:" rows of sets with 20 rows or more, trusted timing and nothing assumed; "judged assumed:" those
///   where something was; by the bands for which fidelity is promised
/// - "corrected:" the same rows by the model corrected at five measured sizes, those sizes left out
/// - "plateau:" one comparison for each set that reaches 128 MiB: least time per byte, predicted over
/// measured
[[nodiscard]] CollectiveValidation validate_collectives(const std::vector<MeasuredTable>& tables,
                                                        const Mapping& rules, const ValidateOptions& options);

}  // namespace stepcast
