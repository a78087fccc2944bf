#pragma once

#include <vector>

#include "calibrate/launch/meeting.hpp"
#include "calibrate/measure/estimate.hpp"
#include "calibrate/measure/measurement.hpp"

namespace stepcast {

struct MeasuringOptions {
  bool quick{};
  Seconds budget{300};              ///< of all measurements together
  LinkGuess between_nodes;          ///< rate 0: not known, or one node
  std::vector<Measurement> wanted;  ///< before everything else (scenario_needs)
};

/// One measurement to make, with what it is expected to cost.
struct PlannedMeasurement {
  Measurement what;
  Seconds one_call;
  Seconds expected;  ///< of all repeats, on all ranks at once
  Bytes memory;      ///< operands on each rank
  int stage{};       ///< ascending; what is left out first when time runs out comes last
};

/// Everything to measure on such devices, the most important first: what is wanted (stage -1), what every
/// prediction needs (stage 0: launch, kernels, collectives of all ranks, coarse grids of products and
/// attention, overlap), then what refines it (1: more rows, the largest sizes, other groups of ranks, lasting
/// load), then fine grids and rarer operations (2). Pure. Nothing in it needs more than half of a device's
/// memory, nor a twelfth of the budget. The same measurement is never planned twice.
[[nodiscard]] std::vector<PlannedMeasurement> measuring_plan(const DeviceFacts& device,
                                                             const RankPlace& place,
                                                             const MeasuringOptions& options);

/// What the budget alone keeps out of measuring_plan: each takes more than a twelfth of it.
[[nodiscard]] std::vector<PlannedMeasurement> too_long_for_budget(const DeviceFacts& device,
                                                                  const RankPlace& place,
                                                                  const MeasuringOptions& options);

/// How a measurement is repeated.
struct SamplingRule {
  Seconds batch;     ///< calls are run back to back until they take so long; they make one sample
  int least{5};      ///< samples
  int most{50};      ///< samples
  double tolerance;  ///< of the median: half of its 95 % confidence interval over it
};
[[nodiscard]] SamplingRule sampling_rule(const DeviceFacts& device, const MeasuringOptions& options);

/// How long a sustained product runs.
[[nodiscard]] Seconds sustained_time(const DeviceFacts& device, const MeasuringOptions& options);

/// Collects measurements that fit into time and memory; parts of the plan add to it.
class PlanBuilder {
 public:
  PlanBuilder(const DeviceFacts& device, const RankPlace& place, const MeasuringOptions& options);

  /// Leaves out what is planned already, what needs too much memory or time, and calls shorter than
  /// `shortest` or longer than `longest` (0: no such limit).
  void add(Measurement what, int stage, Seconds shortest = {}, Seconds longest = {});
  /// The stages in order. Within one, measurements of a kind (collectives of an operation and group, kernels
  /// of an operation) keep the order of adding and are spread evenly, so that whenever time runs out some of
  /// each have been made.
  [[nodiscard]] std::vector<PlannedMeasurement> build();

  [[nodiscard]] bool on_host() const { return device_.compute_capability <= 0; }
  [[nodiscard]] bool quick() const { return options_.quick; }
  /// In which training computes: bf16, else fp16, else fp32.
  [[nodiscard]] Dtype main_type() const;
  [[nodiscard]] const DeviceFacts& device() const { return device_; }
  [[nodiscard]] const RankPlace& place() const { return place_; }

 private:
  const DeviceFacts& device_;
  const RankPlace& place_;
  const MeasuringOptions& options_;
  Estimates estimates_;
  SamplingRule rule_;
  std::vector<PlannedMeasurement> planned_;
};

// The parts of measuring_plan.
void plan_products(PlanBuilder& plan);
void plan_attention(PlanBuilder& plan);
void plan_kernels(PlanBuilder& plan);
void plan_collectives(PlanBuilder& plan);
void plan_overlap(PlanBuilder& plan);

/// The three products of a linear layer on `tokens` rows, as training runs them: forward (x W^T), input
/// gradient (dy W), weight gradient (dy^T x, added up).
[[nodiscard]] std::vector<Measurement> products_of_linear(std::int64_t tokens, std::int64_t out,
                                                          std::int64_t in, Dtype type);

/// Ranks that call together, and what they are called.
struct RankGroup {
  std::string name;
  std::vector<int> ranks;
  int nodes{1};
};
/// "all"; with several nodes and several ranks a node also "node" (the first node's; every node's ranks call
/// at the same time), "across" (the first rank of each node), "rail i" (the i-th rank of each, from 1 as rail
/// 0 is "across"). Groups of one rank, and those with the ranks of one before, are left out; so are rails
/// where nodes have different numbers of ranks.
[[nodiscard]] std::vector<RankGroup> rank_groups(const RankPlace& place);

}  // namespace stepcast
