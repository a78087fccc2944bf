#include <cmath>

#include "base/diagnostic.hpp"
#include "base/print.hpp"
#include "sim/validate/model_flops.hpp"
#include "sim/validate/row_mapper.hpp"

namespace stepcast::detail {
namespace {

/// More than rounding and averaging explain (the corpus agrees within 2 %).
constexpr double largest_disagreement = 0.05;

Seconds step_by_flops(RowMapper& mapper, const MappedModel& model, long global_batch,
                      double flops_per_second) {
  const MappingRule& rule = mapper.require("flops", "TFLOP/s by a formula that is not known");
  const auto tokens = static_cast<double>(model.tokens);
  const auto flops = flops_by_formula(rule.text("formula").value_or(""), mapper.row(), tokens);
  STEPCAST_CHECK(flops.has_value(), "mapping.toml names a formula that model_flops.cpp does not have");
  return static_cast<double>(global_batch) * *flops / FlopPerSecond(flops_per_second);
}

Seconds step_by_metric(RowMapper& mapper, const MappedModel& model, const MappedCluster& cluster,
                       long global_batch) {
  const MeasuredRow& row = mapper.row();
  const MappingRule& rule =
      mapper.require("metric", "{metric_name} in \"{metric_unit}\" is not a rate of steps");
  const auto value = row.number("metric_value");
  if (!value) throw SkippedRow{"no rate"};
  if (!(*value > 0)) throw SkippedRow{"the rate is not above 0"};
  const std::string kind = rule.text("kind").value_or("");
  const Value* per_gpu = rule.outputs->find("per_gpu");
  double rate = *value * rule.number("scale").value_or(1);
  if (kind == "step") return Seconds(rate);
  if (per_gpu != nullptr && per_gpu->boolean) rate *= cluster.gpus;
  const auto samples = static_cast<double>(global_batch);
  if (kind == "flops") return step_by_flops(mapper, model, global_batch, rate);
  if (kind == "samples") return Seconds(samples / rate);
  if (model.images) throw SkippedRow{"tokens/s of a model without tokens"};
  return Seconds(samples * static_cast<double>(model.tokens) / rate);
}

}  // namespace

Seconds measured_step(RowMapper& mapper, const MappedModel& model, const MappedCluster& cluster,
                      const MappedTraining& training) {
  const auto column = mapper.row().number("step_time_s");
  if (column && !(*column > 0)) throw SkippedRow{"step_time_s is not above 0"};
  std::optional<Seconds> by_metric;
  try {
    by_metric = step_by_metric(mapper, model, cluster, training.global_batch);
  } catch (const SkippedRow&) {
    if (!column) throw;
  }
  if (!by_metric) return Seconds(*column);
  if (column && std::abs(*by_metric / Seconds(*column) - 1) > largest_disagreement) {
    throw SkippedRow{"the row contradicts itself: " + print_time(*by_metric) + " a step by its rate, " +
                     print_time(Seconds(*column)) + " in step_time_s"};
  }
  return *by_metric;
}

}  // namespace stepcast::detail
