#include "calibrate/measure/plan.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "calibrate/measure/operands.hpp"

namespace stepcast {
namespace {

/// A single measurement may take so much of the budget in its fewest repeats (and a warm-up).
constexpr double largest_share = 1.0 / 12;
constexpr double memory_share = 0.5;
/// Preparing operands and agreeing among ranks.
constexpr double preparation = 5e-3;

/// Measurements that are alike are spread evenly over their stage.
std::string alike(const Measurement& what) {
  std::string text(name_of(what.kind));
  if (what.kind == Measurement::Kind::collective)
    text += " " + std::string(name_of(what.collective)) + " " + what.group;
  return text + " " + what.operation;
}

Seconds least_time(const PlannedMeasurement& planned, const SamplingRule& rule) {
  return (rule.least + 1) * std::max(planned.one_call, rule.batch) + Seconds(preparation);
}

bool fits(const PlannedMeasurement& planned, const SamplingRule& rule, Seconds budget) {
  return least_time(planned, rule) <= largest_share * budget;
}

}  // namespace

SamplingRule sampling_rule(const DeviceFacts& device, const MeasuringOptions& options) {
  const bool host = device.compute_capability <= 0;
  SamplingRule rule;
  rule.batch = Seconds(host ? (options.quick ? 3e-3 : 5e-3) : 1e-3);
  rule.most = options.quick ? 15 : 50;
  rule.tolerance = options.quick ? 0.05 : 0.02;
  return rule;
}

Seconds sustained_time(const DeviceFacts& device, const MeasuringOptions& options) {
  const bool host = device.compute_capability <= 0;
  if (options.quick) return Seconds(host ? 1 : 5);
  return std::min(Seconds(host ? 5 : 60), options.budget / 10);
}

PlanBuilder::PlanBuilder(const DeviceFacts& device, const RankPlace& place, const MeasuringOptions& options)
    : device_(device),
      place_(place),
      options_(options),
      estimates_(device, options.between_nodes),
      rule_(sampling_rule(device, options)) {}

Dtype PlanBuilder::main_type() const {
  for (const Dtype type : {Dtype::bf16, Dtype::fp16}) {
    if (std::find(device_.dtypes.begin(), device_.dtypes.end(), type) != device_.dtypes.end()) return type;
  }
  return Dtype::fp32;
}

void PlanBuilder::add(Measurement what, int stage, Seconds shortest, Seconds longest) {
  const auto is_this = [&](const PlannedMeasurement& other) { return other.what == what; };
  if (what.kind == Measurement::Kind::kernel) what.moved = estimates_.moved_bytes(what);
  if (std::any_of(planned_.begin(), planned_.end(), is_this)) return;
  PlannedMeasurement planned;
  planned.one_call = estimates_.one_call(what);
  planned.memory = operand_sizes(what).sum();
  planned.stage = stage;
  planned.what = std::move(what);
  if (planned.memory.value > memory_share * device_.memory_capacity.value) return;
  if (planned.one_call < shortest || (longest.value > 0 && planned.one_call > longest)) return;
  if (planned.what.kind == Measurement::Kind::sustained) {
    planned.expected = sustained_time(device_, options_);
  } else {
    if (!fits(planned, rule_, options_.budget)) return;
    // Half as many again as the fewest repeats: what quiet machines need.
    planned.expected = 1.5 * least_time(planned, rule_);
  }
  planned_.push_back(std::move(planned));
}

std::vector<PlannedMeasurement> PlanBuilder::build() {
  // The i-th of n alike stands at i / n of its stage.
  using Stage = std::pair<int, std::string>;
  std::map<Stage, int> size, passed;
  const auto stage_of = [](const PlannedMeasurement& planned) {
    return Stage{planned.stage, alike(planned.what)};
  };
  for (const PlannedMeasurement& planned : planned_) ++size[stage_of(planned)];
  std::vector<std::pair<double, PlannedMeasurement>> placed;
  for (PlannedMeasurement& planned : planned_) {
    const Stage stage = stage_of(planned);
    placed.emplace_back(planned.stage + passed[stage]++ / static_cast<double>(size[stage]),
                        std::move(planned));
  }
  std::stable_sort(placed.begin(), placed.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<PlannedMeasurement> plan;
  for (auto& [place, planned] : placed) plan.push_back(std::move(planned));
  return plan;
}

std::vector<PlannedMeasurement> measuring_plan(const DeviceFacts& device, const RankPlace& place,
                                               const MeasuringOptions& options) {
  PlanBuilder plan(device, place, options);
  for (const Measurement& what : options.wanted) plan.add(what, -1);
  Measurement launch;
  launch.kind = Measurement::Kind::launch;
  plan.add(launch, 0);
  plan_kernels(plan);
  plan_collectives(plan);
  plan_products(plan);
  plan_attention(plan);
  plan_overlap(plan);
  return plan.build();
}

std::vector<PlannedMeasurement> too_long_for_budget(const DeviceFacts& device, const RankPlace& place,
                                                    const MeasuringOptions& options) {
  MeasuringOptions unlimited = options;
  unlimited.budget = Seconds(std::numeric_limits<double>::infinity());
  std::vector<PlannedMeasurement> too_long = measuring_plan(device, place, unlimited);
  const SamplingRule rule = sampling_rule(device, options);
  std::erase_if(too_long, [&](const PlannedMeasurement& planned) {
    return planned.what.kind == Measurement::Kind::sustained || fits(planned, rule, options.budget);
  });
  return too_long;
}

}  // namespace stepcast
