#pragma once

#include <span>
#include <string>

#include "base/units.hpp"

namespace stepcast {

/// Sizes whose predictions err alike.
struct SizeBand {
  std::string name;                          ///< "1-16 MiB"
  Bytes below;                               ///< the band ends before this size; the last one has no end
  double low{}, high{};                      ///< 5 % and 95 % of measured / predicted
  double corrected_low{}, corrected_high{};  ///< likewise where measured sizes correct the prediction
};

/// The bands in ascending order, with the residuals of predictions from topology alone
/// (sim/report/collective_residuals.toml says of which measurements).
[[nodiscard]] std::span<const SizeBand> collective_bands();
[[nodiscard]] const SizeBand& collective_band(Bytes size);

}  // namespace stepcast
