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
/// - The largest of compute (with the optimizer), exposed communication, bubble, host and input decides the
/// group.
/// - Compute: the kernel class that takes most; the optimizer reads and writes memory.
/// - Exposed communication: each call's exposed time is divided into its latency part and the rest; the rest
/// belongs to
///   the kind of link that the call loads nearest to its capacity. Largest sum wins.
/// - Host: `launch` when most of the CPU's time goes into issuing kernels and collectives, else `host`.
/// `kernels` is asked only when compute decides.
[[nodiscard]] std::string bottleneck_of(const Program& program, const Timeline& timeline,
                                        const StepAnalysis& analysis, const Cluster& cluster,
                                        const std::function<KernelTimes()>& kernels);

}  // namespace stepcast
