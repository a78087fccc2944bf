#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "calibrate/import/kernel_class.hpp"
#include "calibrate/import/trace_reader.hpp"

namespace stepcast {

/// A kernel, or a copy or fill, as it ran on a GPU.
struct TimedKernel {
  std::int64_t start{}, end{};
  std::int64_t correlation{-1};
  std::int32_t name{};  ///< into TraceTimeline::names
  KernelClass kind{};
  std::int32_t device{}, stream{};
  std::int32_t call{-1};  ///< collectives and copies: into their lists
};

/// The runtime call that started it.
struct TimedLaunch {
  std::int64_t correlation{};
  std::int64_t start{}, end{}, thread{};
  bool kernel{};  ///< a launch of a kernel, no copy
};

/// What a CPU thread did: an operator, an annotation.
struct TimedSpan {
  std::int64_t thread{}, start{}, end{};
  std::int32_t detail{-1};  ///< of some kinds: into their list
};

/// Spans of one kind that do not overlap on their thread.
class SpanIndex {
 public:
  void add(TimedSpan span) { spans_.push_back(span); }
  /// Sorts; of nested spans the outermost stays, or the innermost where `innermost` asks for it.
  void finish(bool innermost = false);
  /// The span around a time of a thread; nullptr when there is none.
  [[nodiscard]] const TimedSpan* around(std::int64_t thread, std::int64_t time) const;
  [[nodiscard]] const std::vector<TimedSpan>& all() const { return spans_; }

 private:
  std::vector<TimedSpan> spans_;
};

struct TracedCollective {
  std::string name, dtype, group;
  std::vector<int> group_ranks;
  std::int64_t elements_in{-1}, elements_out{-1};
  int group_size{-1};
};

/// The call of an operator whose inputs matter: a product, or one with parameters. Equal calls are one.
struct ShapedOperator {
  std::string name;  ///< "aten::addmm"
  std::vector<std::vector<std::int64_t>> dims, strides;
  std::vector<std::string> types;
};

/// A trace in the form that questions are asked in: some forty bytes for each kernel and launch, and nothing
/// of other events.
struct TraceTimeline {
  TraceFacts facts;
  std::vector<std::string> names;             ///< of kernels, copies and modules, each once
  std::vector<TimedKernel> kernels;           ///< sorted by start
  std::vector<TimedLaunch> launches;          ///< sorted by correlation
  std::vector<double> copied_bytes;           ///< of the copies
  std::vector<TracedCollective> collectives;  ///< what the kernels say of themselves
  std::vector<TracedCollective> annotated;    ///< what the CPU operators say
  std::vector<ShapedOperator> operators;

  struct Step {
    std::int64_t start{}, end{}, number{};
  };
  std::vector<Step> steps;  ///< "ProfilerStep#N", sorted
  SpanIndex backward;       ///< "autograd::engine::evaluate_function: ..."; detail: sequence number
  SpanIndex optimizer;      ///< "Optimizer.step#..."
  SpanIndex communication;  ///< "nccl:..." and record_param_comms; detail: into `annotated`
  SpanIndex products;       ///< aten::mm, aten::addmm; detail: into `operators`
  SpanIndex weighted;       ///< operators with parameters, the outermost; detail: into `operators`
  SpanIndex modules;        ///< "nn.Module: ...", the innermost; detail: into `names`
  std::vector<TimedSpan>
      forward;  ///< operators with a sequence number, in detail; sorted by thread and start

  std::uint64_t gpu_events{}, counter_ranges{}, cpu_operators{};
  bool shapes{};  ///< "Input Dims" are recorded

  [[nodiscard]] const TimedLaunch* launch_of(const TimedKernel& kernel) const;
  /// Index into `steps` of the one around a time; -1: none.
  [[nodiscard]] int step_at(std::int64_t time) const;
};

/// Told now and then how many bytes of the file are read; false ends reading.
using ReadProgress = std::function<bool(std::uint64_t read, std::uint64_t size)>;

/// Reads a file (plain or gzip'd) into a timeline.
/// @throws ScenarioError when the file can't be read, or is none: it says what it is instead
/// @throws Interrupted when `progress` ends it
[[nodiscard]] TraceTimeline read_timeline(const std::string& file, const ReadProgress& progress = nullptr);
/// The same of a stream; `file` is the name that faults carry.
[[nodiscard]] TraceTimeline read_timeline(std::istream& from, const std::string& file);

}  // namespace stepcast
