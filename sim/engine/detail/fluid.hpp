#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/engine/detail/compiled.hpp"
#include "sim/engine/detail/fair_share_solver.hpp"

namespace stepcast::detail {

/// The moving collectives and the resources between them. A start or an end only notes which resources it
/// touched; resolve() then solves the connected components of those, once for all that happened at one
/// instant.
class FluidNetwork {
 public:
  struct RateChange {
    int flow{};
    double rate{};  ///< payload bytes per second
  };

  FluidNetwork(std::span<const Resource> resources, std::span<const Load> loads);

  void start(int flow, const CompiledCost& cost);
  void stop(int flow);
  [[nodiscard]] bool touched() const { return !touched_.empty(); }
  /// Appends the flows whose rate is no longer what it was, in a deterministic order.
  void resolve(std::vector<RateChange>& changes);

 private:
  struct Flow {
    std::span<const Load> loads;
    double alone_rate{};
    double rate{};
    std::uint64_t visited{};
  };
  void touch(const Flow& flow);
  void collect_component(int resource);

  std::span<const Resource> resources_;
  std::span<const Load> loads_;
  std::vector<Flow> flows_;
  std::vector<std::vector<int>> flows_on_;  ///< by resource
  std::vector<std::uint64_t> visited_;      ///< by resource
  std::vector<char> is_touched_;
  std::vector<int> touched_;
  std::vector<int> component_, frontier_;
  std::uint64_t epoch_{};
  FairShareSolver solver_;
  std::vector<FairShareSolver::Activity> activities_;
  std::vector<double> rates_;
};

}  // namespace stepcast::detail
