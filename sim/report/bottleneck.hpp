#pragma once

#include <functional>
#include <string>

#include "sim/report/breakdown.hpp"
#include "topology/cluster.hpp"

namespace stepcast {

/// What the kernels of one step spend their time on, in seconds (or any common unit).
struct KernelTimes {
  double matrix{};  ///< products, convolutions, attention
  double memory{};
  double launch{};  ///< kernels so short that their fixed part is most of them
};

/// What most of the critical rank's time is spent on: gemm memory_bandwidth launch nvlink pcie nic switch
/// latency pipeline host input.
/// - An idle GPU whose CPU mostly issues kernels and collectives waits for launches, which belong to compute;
/// otherwise
///   it is the host's.
/// - The largest of compute (with the optimizer and launches), exposed communication, bubble, host and input
/// decides.
/// - Compute: the largest of products, memory-bound kernels with the optimizer, and launches with the kernels
/// whose
///   fixed part is most of them.
/// - Exposed communication: each call's exposed time is divided into its latency part and the rest; the rest
/// belongs to
///   the kind of link that the call loads nearest to its capacity. Largest sum wins.
/// `kernels` is asked only when compute decides.
[[nodiscard]] std::string bottleneck_of(const Program& program, const Timeline& timeline,
                                        const StepAnalysis& analysis, const Cluster& cluster,
                                        const std::function<KernelTimes()>& kernels);

}  // namespace stepcast
