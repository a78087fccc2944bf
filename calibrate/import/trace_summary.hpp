#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "calibrate/import/timeline.hpp"
#include "sim/collective/collective.hpp"

namespace stepcast {

/// What part of a step a kernel belongs to, by where it was launched.
enum class StepPart { forward, backward, optimizer, other };
constexpr int step_parts = 4;
[[nodiscard]] std::string_view name_of(StepPart part);

struct ClassTime {
  std::int64_t count{};
  Seconds time;  ///< sum of the kernels' own times
};

/// What one step, or the whole trace, was spent on. Kernels count to the step in which they were launched.
struct StepTimes {
  std::int64_t number{};  ///< of "ProfilerStep#N"
  Seconds duration;  ///< of the annotation, on the CPU; the whole trace: first kernel's start to last's end
  std::array<ClassTime, kernel_classes> classes;
  std::array<Seconds, step_parts> parts;  ///< kernels without collectives and copies
  /// Idle time of the compute stream between its kernels, by what it waited for.
  Seconds waiting_for_launch;         ///< the CPU had not launched the next kernel yet
  Seconds waiting_for_communication;  ///< a collective ran
  Seconds waiting_for_other;          ///< another stream, or a copy
  Seconds exposed_communication;      ///< collectives while no other kernel ran
};

/// Equal calls of one collective.
struct TracedSeries {
  std::optional<Operation> operation;
  std::string name;           ///< as the trace calls it
  std::optional<Bytes> size;  ///< the full tensor, as nccl-tests counts; nothing where the trace has no sizes
  int ranks{};                ///< 0: not recorded
  std::string group;          ///< process group's name
  std::vector<int> group_ranks;
  struct Call {
    int step{};    ///< index; -1: outside of steps
    int number{};  ///< of its kind in the step
    Seconds time, exposed;
  };
  std::vector<Call> calls;
  Seconds lower_quartile, median, exposed;  ///< exposed: sum
};

/// Copies of one kind ("Memcpy HtoD (Pinned -> Device)").
struct CopySeries {
  std::string kind;
  std::int64_t count{};
  Bytes bytes;
  Seconds time;
  std::int64_t large{};       ///< of large_copy (on the device: large_device_copy) or more
  BytesPerSecond large_rate;  ///< median of those
};
/// From here on a copy's start-up is under a percent of its time (10 us of 16 MiB at 15 GB/s).
constexpr Bytes large_copy = mebibytes(16);
/// Copies on the device count from here on: smaller ones may stay in the second-level cache (tens of MiB).
constexpr Bytes large_device_copy = mebibytes(128);

/// One product, by shape.
struct ProductSeries {
  Dtype dtype{};
  std::int64_t rows{}, columns{}, depth{};
  std::string layout;  ///< "nn", "nt", "tn", row-major; "" when the trace does not tell
  std::int64_t calls{};
  Seconds median;
};

struct KernelTime {
  std::string name;
  KernelClass kind{};
  ClassTime total;
};

struct TraceSummary {
  std::string file;
  TraceFacts facts;
  std::string gpu;          ///< the driver's name of the GPU that ran the kernels; "" when not recorded
  std::string gpu_profile;  ///< name of its [gpu] section
  StepTimes whole;
  std::vector<StepTimes> steps;
  std::vector<KernelTime> kernels;  ///< by time, longest first
  std::vector<TracedSeries> collectives;
  std::vector<CopySeries> copies;
  std::vector<ProductSeries> products;  ///< by time, longest first
  std::int64_t launches{};
  Seconds launch_median;
  bool triton{};  ///< kernels of a compiler: torch.compile
  std::vector<std::string> notes;
};

/// @throws ScenarioError when no kernel ran: it says what the trace holds instead
[[nodiscard]] TraceSummary summarise(const TraceTimeline& timeline, const std::string& file);

}  // namespace stepcast
