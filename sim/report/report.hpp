#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/diagnostic.hpp"
#include "base/document.hpp"
#include "sim/engine/simulate.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/training/memory.hpp"
#include "sim/training/plan.hpp"

namespace stepcast {

/// Parts of the critical rank's step; they add up to the step time (design 6.3).
struct Breakdown {
  Seconds compute, exposed_communication, pipeline_bubble, optimizer, input, host;
  [[nodiscard]] Seconds sum() const {
    return compute + exposed_communication + pipeline_bubble + optimizer + input + host;
  }
};

/// How some calls of one operation and group run.
struct CollectiveChoice {
  std::string algorithm, protocol;
  int channels{};
  double count{};  ///< calls per step
};

/// All calls of one operation in one group during a step.
struct CommunicationRow {
  std::string operation, group, algorithm, protocol;
  Bytes bytes;     ///< mean payload per call
  double count{};  ///< per step
  Seconds time;    ///< total moving time per step
  BytesPerSecond bus_bandwidth;
  Seconds exposed;  ///< part of `time` per step; waits for late ranks are no part of either
  std::vector<CollectiveChoice> choices;  ///< all that occur, by name; for sentences, not in the JSON
};

struct LinkRow {
  std::string kind, name;
  double utilization{};
  Seconds busy;
};

/// One point's answer.
struct PointReport {
  std::vector<std::pair<std::string, Value>> settings;
  std::string invalid;              ///< not empty: the point cannot exist; nothing below holds
  std::optional<Diagnostic> fault;  ///< the same with its place
  int gpus{}, data_parallel_size{}, nodes{};
  std::int64_t global_batch_size{};
  MemoryReport memory;
  Seconds step_time, step_time_p05, step_time_p50, step_time_p95;
  std::optional<Seconds> tuned_step_time;  ///< TCP whose default sockets limit: with tuned ones
  double samples_per_s{};
  std::optional<double> tokens_per_s, mfu, hfu;
  std::optional<double> scaling_efficiency;
  std::vector<std::pair<std::string, Value>> baseline;  ///< its settings
  int baseline_gpus{};
  Breakdown breakdown;
  std::vector<CommunicationRow> communication;
  std::vector<LinkRow> links;
  std::string
      bottleneck;  ///< gemm memory_bandwidth launch nvlink pcie nic switch latency pipeline host input
  std::vector<std::pair<std::string, std::string>> origins;
  std::vector<std::pair<std::string, std::string>> dtypes;
  std::vector<std::string> warnings;
  std::int64_t events{};
  // For the table and its sentences; design 6.3 has no place for them.
  int micro_batch_size{}, gradient_accumulation_steps{};
  std::string strategy, fabric;
  int gpus_per_node{};
  FabricSpec network;  ///< with the scenario's rate, latency and NIC count; nics_per_node is never 0
  int nics_used{};     ///< NICs of one node that collectives load
  /// Throughput per GPU over the smallest cluster's at the smallest's batch per GPU (weak) and at its global
  /// batch (strong); nothing when cluster sizes are not swept or the batch cannot be divided.
  std::optional<double> weak_efficiency, strong_efficiency;
  std::vector<std::string> efficiency_notes;  ///< of the plan: why efficiency may pass 1
};

struct Report {
  std::string title;
  std::vector<std::string> swept;
  std::vector<PointReport> points;
  std::string sample_word;
};

struct RunOptions {
  int jobs{};  ///< threads; 0: all cores
  bool unfolded{};
  bool companions{true};  ///< also run what the weak and strong columns need and the sweep lacks
  const std::atomic<bool>* cancel{};
  std::function<void(std::size_t done, std::size_t total)> progress;
};

/// Predicts every point (and baselines that the sweep lacks) on all cores; the order and bytes of the result
/// do not depend on `jobs`.
[[nodiscard]] Report run(const ScenarioFile& file, const RunOptions& options);

/// One scenario. Memoizes models, clusters, profiles and costs, keyed by what the scenario says of them; so
/// it must not outlive a change of the files that the scenario names. Not safe to share between threads.
class Predictor {
 public:
  Predictor();
  /// `cancel`, when it becomes true, ends a prediction with Interrupted.
  explicit Predictor(const std::atomic<bool>* cancel);
  ~Predictor();
  [[nodiscard]] PointReport predict(const Scenario& scenario, bool unfolded = false);
  /// The plan and its steady step, every micro-batch written out (for traces).
  [[nodiscard]] std::pair<StepPlan, Timeline> trace(const Scenario& scenario);

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

/// design 6.3, schema "stepcast.result/1".
[[nodiscard]] std::string to_json(const Report& report);
/// The table and the sentences that a person reads.
[[nodiscard]] std::string to_table(const Report& report);
/// Chrome / Perfetto trace of the steady step: a process per node, a thread per stream of one rank per class;
/// times in microseconds from the first event. `gpus_per_node` places the ranks; 0: all on node 0.
[[nodiscard]] std::string to_chrome_trace(const StepPlan& plan, const Timeline& timeline,
                                          int gpus_per_node = 0);

}  // namespace stepcast
