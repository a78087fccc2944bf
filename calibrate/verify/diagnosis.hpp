#pragma once

#include <functional>
#include <string>
#include <vector>

#include "calibrate/verify/hypotheses.hpp"
#include "calibrate/verify/nccl_evidence.hpp"
#include "sim/cost/profile.hpp"
#include "sim/scenario/scenario.hpp"

namespace stepcast {

/// One figure, measured and as the scenario's hardware should have it.
struct ComparedFigure {
  std::string what;  ///< "all_reduce, 16 ranks, 1 MiB"
  enum class Unit { seconds, bytes_per_second, flop_per_second } unit{};
  double measured{}, expected{};

  /// Measured performance over expected performance: of times the other way round.
  [[nodiscard]] double performance() const {
    return unit == Unit::seconds ? expected / measured : measured / expected;
  }
};

/// A figure as people read it: "28.1 GB/s".
[[nodiscard]] std::string print_figure(const ComparedFigure& figure, double value);

/// A cause for what is slow, and how well it explains it.
struct Suspect {
  Cause cause{};
  std::vector<double> explained;  ///< what the figures of the finding would be under it; empty: not simulated
  double
      factor{};  ///< geometric mean of how far they are from the measured ones, 1 or more; 0: not simulated
  std::vector<Evidence> evidence;
};

/// Something that reaches less than half of what it should.
struct Finding {
  std::string what;  ///< "all_reduce on 16 ranks, >= 16 MiB"
  std::vector<ComparedFigure> figures;
  double performance{};           ///< median of the figures'
  std::vector<Suspect> suspects;  ///< likeliest first: those with evidence, then by factor
  /// The first suspect, when a line speaks for it or it explains the figures within a factor of 1.5.
  [[nodiscard]] const Suspect* likely() const;
};

struct Diagnosis {
  std::string file, kind;  ///< "nccl-tests log", "training log", "profile"
  std::string hardware;    ///< what the scenario has, in words
  std::vector<ComparedFigure> figures;
  std::vector<Finding> findings;
  std::vector<Evidence> unexplained;  ///< lines that speak for a cause where no figure is below a half
  std::vector<std::string> notes;

  /// Something is slow; or the log holds no figures, and lines of it speak for a cause.
  [[nodiscard]] bool found() const { return !findings.empty() || (figures.empty() && !unexplained.empty()); }
};

/// Below this share of the expected performance something is wrong.
inline constexpr double faulty = 0.5;

/// What the finding's figures would be under a hypothesis, in their order.
using Explanation = std::function<std::vector<double>(const Scenario& broken)>;

/// Fills suspects: every hypothesis of the scenario that the log does not refute, simulated, and the
/// evidence. A hypothesis that can't be simulated or changes nothing is left out, unless a line speaks for
/// it.
void add_suspects(Finding& finding, const Scenario& scenario, const Testimony& said,
                  const Explanation& explain);

/// An nccl-tests log: every operation that ran on all of the scenario's GPUs, band by band of sizes.
/// Profiles that the scenario names are left aside: the shipped figures say what the hardware should reach.
/// @throws ScenarioError: no log, or none of these ranks
[[nodiscard]] Diagnosis diagnose_collectives(const std::string& file, Scenario scenario);
/// A training log: its step time.
[[nodiscard]] Diagnosis diagnose_training(const std::string& file, Scenario scenario);
/// Any log: one of the two, or, without table and step times, what its lines of NCCL say.
/// @throws ScenarioError: neither times nor lines of NCCL
[[nodiscard]] Diagnosis diagnose_log(const std::string& file, const ScenarioFile& scenario);
/// A calibrated profile: rates of products, memory and copies, launch cost, and those collectives that were
/// measured over the scenario's links.
/// @throws ScenarioError: it holds nothing of the scenario's hardware
[[nodiscard]] Diagnosis diagnose_profile(const std::string& file, Scenario scenario);

/// The table, and what is found.
[[nodiscard]] std::string to_text(const Diagnosis& diagnosis);
/// Schema "stepcast.diagnosis/1" (docs/verify.md).
[[nodiscard]] std::string to_json(const Diagnosis& diagnosis);

}  // namespace stepcast
