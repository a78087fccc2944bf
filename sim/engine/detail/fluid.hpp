#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/engine/detail/fair_share_solver.hpp"
#include "sim/engine/program.hpp"

namespace stepcast::detail {

/// The moving flows (calls of collectives, or chunks of them) and the resources between them. A start or an
/// end only notes which resources it touched; resolve() then solves the connected components of those, once
/// for all that happened at one instant.
class FluidNetwork {
 public:
  struct RateChange {
    int flow{};
    double rate{};  ///< payload bytes per second
  };

  /// @param resources  must outlive the network, as the loads of its flows
  explicit FluidNetwork(std::span<const Resource> resources);

  /// @param flow  a small number that no moving flow has
  /// @param loads  no resource twice, weights positive
  /// @param alone_rate  whose share a fair share is; may be more than the loads allow at once
  void start(int flow, std::span<const Load> loads, double alone_rate);
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
    std::vector<int> places;  ///< by load: where the flow stands in users_ of that resource
  };
  struct User {
    int flow{};
    int load{};  ///< which one of the flow's
  };
  void touch(const Flow& flow);
  void collect_component(int resource);

  std::span<const Resource> resources_;
  std::vector<Flow> flows_;
  std::vector<std::vector<User>> users_;  ///< by resource
  std::vector<std::uint64_t> visited_;    ///< by resource
  std::vector<char> is_touched_;
  std::vector<int> touched_;
  std::vector<int> component_, frontier_;
  std::uint64_t epoch_{};
  FairShareSolver solver_;
  std::vector<FairShareSolver::Activity> activities_;
  std::vector<double> rates_;
};

}  // namespace stepcast::detail
