#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/document.hpp"
#include "base/units.hpp"
#include "sim/validate/measured_row.hpp"
#include "sim/validate/rules.hpp"

namespace stepcast::detail {

/// What the parts of a row's mapping share: the row, with "@" columns added as they are found, and what was
/// assumed.
class RowMapper {
 public:
  RowMapper(MeasuredRow row, const Mapping& mapping) : row_(std::move(row)), mapping_(mapping) {}

  /// The section's first rule; notes what it assumes.
  /// @throws SkippedRow with the rule's reason, or with `otherwise` when no rule matches
  const MappingRule& require(std::string_view section, std::string_view otherwise);
  void assume(std::string what) { assumed_.push_back(std::move(what)); }
  void found(const std::string& column, std::string value) { row_.cells[column] = std::move(value); }

  [[nodiscard]] const MeasuredRow& row() const { return row_; }
  [[nodiscard]] const Mapping& mapping() const { return mapping_; }
  [[nodiscard]] std::vector<std::string>& assumed() { return assumed_; }
  /// A whole number; @throws SkippedRow with `otherwise` when the cell is empty
  [[nodiscard]] long count(std::string_view column, std::string_view otherwise) const;

 private:
  MeasuredRow row_;
  const Mapping& mapping_;
  std::vector<std::string> assumed_;
};

/// A table under construction; entries keep the order in which they are set. Places are those of the row.
class TableMaker {
 public:
  explicit TableMaker(const MeasuredRow& row);
  TableMaker& set(const std::string& key, Value value);
  TableMaker& set(const std::string& key, const std::string& text) { return set(key, Value::of(text)); }
  TableMaker& set(const std::string& key, long number) { return set(key, Value::of(std::int64_t{number})); }
  [[nodiscard]] Value value() const { return value_; }

 private:
  SourcePlace place_;
  Value value_;
};

struct MappedModel {
  Value section;     ///< [model]
  std::string name;  ///< for groups
  bool images{};
  long tokens{};  ///< of one sequence as the source counts it; 0 for images
  std::string optimizer{"adamw"};
};
[[nodiscard]] MappedModel map_model(RowMapper& mapper);

struct MappedCluster {
  Value section;  ///< [cluster]
  std::string gpu;
  int gpus{}, nodes{};
};
[[nodiscard]] MappedCluster map_cluster(RowMapper& mapper);

struct MappedTraining {
  Value section;  ///< [training]
  std::string software, strategy;
  long global_batch{};
};
[[nodiscard]] MappedTraining map_training(RowMapper& mapper, const MappedModel& model,
                                          const MappedCluster& cluster);

/// Seconds of one optimizer step, from the metric by its unit:
///     step        metric
///     samples/s   global batch / rate (x GPUs when per GPU)
///     tokens/s    global batch x tokens of a sequence / rate
///     TFLOP/s     FLOPs of the global batch by the source's formula / (rate x GPUs)
/// A metric that can't be converted leaves the column step_time_s.
/// @throws SkippedRow: neither, or both and more than 5 % apart
[[nodiscard]] Seconds measured_step(RowMapper& mapper, const MappedModel& model, const MappedCluster& cluster,
                                    const MappedTraining& training);

}  // namespace stepcast::detail
