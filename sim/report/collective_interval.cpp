#include "sim/report/collective_interval.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "base/diagnostic.hpp"
#include "base/embedded.hpp"
#include "base/table_reader.hpp"

namespace stepcast {

std::span<const EmbeddedFile> embedded_collective_residuals();

namespace {

std::vector<SizeBand> read_bands() {
  const Value document =
      parse_toml(embedded_collective_residuals().front().text, "sim/report/collective_residuals.toml");
  std::vector<Diagnostic> faults;
  TableReader reader(document, "", faults);
  reader.require("source", "which measurements the residuals are of");
  reader.known("source");
  std::vector<SizeBand> bands;
  if (const Value* tables = reader.tables("band")) {
    for (const Value& table : tables->array) {
      TableReader in(table, "band", faults);
      SizeBand band;
      band.name = in.string("name").value_or("");
      band.below = in.bytes("below").value_or(Bytes(std::numeric_limits<double>::infinity()));
      band.low = in.number("low", 0, 1).value_or(1);
      band.high = in.number("high", 1, 1000).value_or(1);
      band.corrected_low = in.number("corrected_low", 0, 1).value_or(1);
      band.corrected_high = in.number("corrected_high", 1, 1000).value_or(1);
      in.finish();
      bands.push_back(std::move(band));
    }
  }
  reader.finish();
  STEPCAST_CHECK(faults.empty() && !bands.empty(), "sim/report/collective_residuals.toml is faulty");
  return bands;
}

}  // namespace

std::span<const SizeBand> collective_bands() {
  static const std::vector<SizeBand> bands = read_bands();
  return bands;
}

const SizeBand& collective_band(Bytes size) {
  const auto bands = collective_bands();
  const auto found =
      std::find_if(bands.begin(), bands.end(), [&](const SizeBand& band) { return size < band.below; });
  return found == bands.end() ? bands.back() : *found;
}

}  // namespace stepcast
