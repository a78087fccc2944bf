#include "sim/report/bottleneck.hpp"

#include <algorithm>
#include <map>

namespace stepcast {
namespace {

std::string word_for(LinkKind kind) {
  switch (kind) {
    case LinkKind::nvlink:
      return "nvlink";
    case LinkKind::pcie:
    case LinkKind::host:
      return "pcie";
    case LinkKind::nic:
      return "nic";
    case LinkKind::fabric:
      return "switch";
  }
  return "nic";
}

/// The kind of link that one call, moving, loads nearest to its capacity: the weight per payload byte over
/// capacity.
std::string tightest_link(const Program& program, const CollectiveCost& cost, const Cluster& cluster) {
  double highest = -1;
  std::string word = "latency";  // no link at all: only its latency is left
  for (const Load& load : cost.loads) {
    const Resource& resource = program.resources[static_cast<std::size_t>(load.resource)];
    if (resource.link < 0) continue;
    const double pressure = load.weight / resource.capacity;
    if (pressure <= highest) continue;
    highest = pressure;
    word = word_for(cluster.links()[static_cast<std::size_t>(resource.link)].kind);
  }
  // Sockets, not the wire: a faster NIC would gain nothing.
  const bool sockets = cluster.request().fabric.transport == Transport::ethernet && word != "nvlink";
  if (sockets && cost.rate_ceiling > 0 && cost.rate_ceiling * highest < 0.95) return "host";
  return word;
}

std::string communication_bottleneck(const Program& program, const Timeline& timeline,
                                     const StepAnalysis& analysis, const Cluster& cluster) {
  std::map<std::string, double> exposed_by;
  for (std::size_t i = 0; i < program.tasks.size(); ++i) {
    const double exposed = analysis.exposed[i].value;
    if (exposed <= 0) continue;
    const auto& call = program.collectives[static_cast<std::size_t>(program.tasks[i].payload)];
    const auto& cost = program.collective_costs[static_cast<std::size_t>(call.cost)];
    const Interval& interval = timeline.intervals[i];
    const auto moving = static_cast<double>(interval.end - interval.moving);
    const double latency_share = moving > 0 ? std::min(1.0, static_cast<double>(cost.latency) / moving) : 1.0;
    exposed_by["latency"] += latency_share * exposed;
    exposed_by[tightest_link(program, cost, cluster)] += (1 - latency_share) * exposed;
  }
  const auto largest = std::max_element(exposed_by.begin(), exposed_by.end(),
                                        [](const auto& a, const auto& b) { return a.second < b.second; });
  return largest == exposed_by.end() ? "latency" : largest->first;
}

/// @param launching  time in which the GPU waits for launches
std::string compute_bottleneck(const Breakdown& parts, Seconds launching, const KernelTimes& kernels) {
  const double total = kernels.matrix + kernels.memory + kernels.launch;
  // Layers that were measured as a whole do not say what their kernels do: they count as products.
  const double scale = total > 0 ? parts.compute.value / total : 0;
  const double matrix = total > 0 ? scale * kernels.matrix : parts.compute.value;
  const double memory = scale * kernels.memory + parts.optimizer.value;
  const double launch = scale * kernels.launch + launching.value;
  if (matrix >= memory && matrix >= launch) return "gemm";
  return memory >= launch ? "memory_bandwidth" : "launch";
}

/// True when the CPU spends most of its time issuing kernels and collectives, not on work of its own.
bool cpu_mostly_launches(const Program& program, int rank) {
  double issuing = 0, other = 0;
  for (const Task& task : program.tasks) {
    if (task.rank != rank) continue;
    const double time = static_cast<double>(task.host_time) * repetitions(program, task);
    (task.kind == TaskKind::host_wait || task.role == TaskRole::host ? other : issuing) += time;
  }
  return issuing > other;
}

}  // namespace

std::string bottleneck_of(const Program& program, const Timeline& timeline, const StepAnalysis& analysis,
                          const Cluster& cluster, const std::function<KernelTimes()>& kernels) {
  const Breakdown& parts = analysis.breakdown;
  const bool launches = cpu_mostly_launches(program, analysis.critical_rank);
  const Seconds launching = launches ? parts.host : Seconds(0);
  const Seconds host = launches ? Seconds(0) : parts.host;
  const Seconds compute = parts.compute + parts.optimizer + launching;
  const Seconds largest =
      std::max({compute, parts.exposed_communication, parts.pipeline_bubble, host, parts.input});
  if (compute == largest) return compute_bottleneck(parts, launching, kernels());
  if (parts.exposed_communication == largest) {
    return communication_bottleneck(program, timeline, analysis, cluster);
  }
  if (parts.pipeline_bubble == largest) return "pipeline";
  return parts.input == largest ? "input" : "host";
}

}  // namespace stepcast
