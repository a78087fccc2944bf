#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibrate/measure/measurement.hpp"

namespace stepcast {

/// What a calibration found, at a glance.
struct ResultReport {
  struct Product {
    Dtype type{};
    FlopPerSecond rate;
    Measurement shape;
  };
  struct Collective {
    Operation operation{};
    std::string group;
    int ranks{}, nodes{};
    Seconds latency;  ///< of the smallest size
    Bytes smallest;
    BytesPerSecond bus_bandwidth;  ///< the best, as nccl-tests defines it
    Bytes best_size;
  };
  std::vector<Product> products;  ///< the fastest of each type
  std::optional<BytesPerSecond> memory_rate;
  std::optional<Seconds> launch;
  std::vector<Collective> collectives;
  std::optional<double>
      overlap_slowdown;               ///< of a gemm beside a collective: the median over what was measured
  std::optional<double> rank_spread;  ///< slowest rank over fastest in the sustained product, less 1
  std::optional<double> sustained_slowdown;  ///< of a product under lasting load, against a short run
  double spread{};                           ///< from run to run: the median over all measurements
  std::vector<std::string> warnings;
};

/// @param left_out  measurements for which the budget left no time
[[nodiscard]] ResultReport result_report(const MeasuredSet& set, int left_out);

/// Where things are, for a report.
struct ResultContext {
  std::string backend, profile;
  Seconds duration;
};
[[nodiscard]] std::string to_table(const ResultReport& report, const MeasuredSet& set,
                                   const ResultContext& context);
/// Schema "stepcast.calibration/1".
[[nodiscard]] std::string to_json(const ResultReport& report, const MeasuredSet& set,
                                  const ResultContext& context);

}  // namespace stepcast
