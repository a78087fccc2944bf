#include "calibrate/import/timeline.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <tuple>

#include "base/diagnostic.hpp"
#include "base/document.hpp"

namespace stepcast {
namespace {

constexpr std::string_view step_prefix = "ProfilerStep#", module_prefix = "nn.Module: ",
                           backward_prefix = "autograd::engine::evaluate_function",
                           optimizer_prefix = "Optimizer.step", nccl_prefix = "nccl:";

bool is_product(std::string_view name) { return name == "aten::mm" || name == "aten::addmm"; }

/// Operators whose inputs are parameters (weight_parameters in trace_workload.cpp says which).
bool has_parameters(std::string_view name) {
  static const std::set<std::string_view> names = {
      "aten::linear",     "aten::addmm",    "aten::conv1d",     "aten::conv2d",     "aten::conv3d",
      "aten::layer_norm", "aten::rms_norm", "aten::group_norm", "aten::batch_norm", "aten::embedding"};
  return names.contains(name);
}

class TimelineBuilder {
 public:
  void add(const TraceEvent& event) {
    if (event.phase != 'X') return;
    const std::string& category = event.category;
    if (category == "kernel" || category == "Kernel") {
      add_kernel(event, kernel_class(event.name));
    } else if (category == "gpu_memcpy" || category == "gpu_memset" || category == "Memcpy" ||
               category == "Memset") {
      add_kernel(event, KernelClass::copy);
    } else if (category == "cuda_runtime" || category == "cuda_driver" || category == "Runtime") {
      add_launch(event);
    } else if (category == "cuda_profiler_range") {
      ++line_.counter_ranges;
    } else if (event.name.starts_with(module_prefix)) {
      line_.modules.add(span_of(event, name_index(event.name.substr(module_prefix.size()))));
    } else if (category == "user_annotation" || category == "cpu_op" || category == "Operator") {
      add_span(event);
    }
  }

  TraceTimeline finish(TraceFacts facts) {
    line_.facts = std::move(facts);
    std::sort(line_.kernels.begin(), line_.kernels.end(),
              [](const TimedKernel& a, const TimedKernel& b) { return a.start < b.start; });
    std::sort(line_.launches.begin(), line_.launches.end(),
              [](const TimedLaunch& a, const TimedLaunch& b) { return a.correlation < b.correlation; });
    std::sort(line_.steps.begin(), line_.steps.end(),
              [](const TraceTimeline::Step& a, const TraceTimeline::Step& b) { return a.start < b.start; });
    std::sort(line_.forward.begin(), line_.forward.end(), [](const TimedSpan& a, const TimedSpan& b) {
      return std::pair(a.thread, a.start) < std::pair(b.thread, b.start);
    });
    line_.backward.finish();
    line_.optimizer.finish();
    join_communication();
    line_.products.finish();
    line_.weighted.finish();
    line_.modules.finish(true);
    return std::move(line_);
  }

 private:
  static TimedSpan span_of(const TraceEvent& event, std::int64_t detail) {
    return {event.thread, event.start, event.start + event.duration, static_cast<std::int32_t>(detail)};
  }

  std::int32_t name_index(const std::string& name) {
    const auto [place, is_new] =
        known_names_.try_emplace(name, static_cast<std::int32_t>(line_.names.size()));
    if (is_new) line_.names.push_back(name);
    return place->second;
  }

  static TracedCollective call_of(const TraceEvent& event) {
    return {event.collective,  event.dtype,        event.group,     event.group_ranks,
            event.elements_in, event.elements_out, event.group_size};
  }

  void add_kernel(const TraceEvent& event, KernelClass kind) {
    ++line_.gpu_events;
    TimedKernel kernel{event.start,
                       event.start + event.duration,
                       event.correlation,
                       name_index(event.name),
                       kind,
                       static_cast<std::int32_t>(event.device >= 0 ? event.device : event.process),
                       static_cast<std::int32_t>(event.stream >= 0 ? event.stream : event.thread),
                       -1};
    if (kind == KernelClass::copy) {
      kernel.call = static_cast<std::int32_t>(line_.copied_bytes.size());
      line_.copied_bytes.push_back(event.bytes);
    } else if (kind == KernelClass::collective) {
      kernel.call = static_cast<std::int32_t>(line_.collectives.size());
      line_.collectives.push_back(call_of(event));
    }
    line_.kernels.push_back(kernel);
  }

  void add_launch(const TraceEvent& event) {
    if (event.correlation < 0) return;
    const bool kernel = event.name.find("LaunchKernel") != std::string::npos;
    const bool other = event.name.find("Memcpy") != std::string::npos ||
                       event.name.find("Memset") != std::string::npos ||
                       event.name.find("Launch") != std::string::npos;
    if (!kernel && !other) return;
    line_.launches.push_back(
        {event.correlation, event.start, event.start + event.duration, event.thread, kernel});
  }

  void add_span(const TraceEvent& event) {
    const std::string& name = event.name;
    if (event.category != "user_annotation") ++line_.cpu_operators;
    if (!event.dims.empty()) line_.shapes = true;
    if (name.starts_with(step_prefix)) {
      std::int64_t number = 0;
      (void)std::from_chars(name.data() + step_prefix.size(), name.data() + name.size(), number);
      line_.steps.push_back({event.start, event.start + event.duration, number});
    } else if (name.starts_with(backward_prefix)) {
      line_.backward.add(span_of(event, event.sequence));
    } else if (name.starts_with(optimizer_prefix)) {
      line_.optimizer.add(span_of(event, -1));
    } else if (name.starts_with(nccl_prefix) || name == "record_param_comms") {
      add_communication(event);
    } else {
      add_operator(event);
    }
  }

  void add_communication(const TraceEvent& event) {
    TracedCollective call = call_of(event);
    if (call.name.empty() && event.name.starts_with(nccl_prefix))
      call.name = event.name.substr(nccl_prefix.size());
    if (call.elements_in < 0 && !event.dims.empty() && !event.dims.front().empty() && !event.types.empty()) {
      double elements = 1;
      for (const std::int64_t extent : event.dims.front()) elements *= static_cast<double>(extent);
      constexpr double most = 1e18;
      if (elements > 0 && elements < most) call.elements_in = static_cast<std::int64_t>(elements);
      call.dtype = event.types.front();
    }
    communication_.push_back(span_of(event, static_cast<std::int64_t>(line_.annotated.size())));
    line_.annotated.push_back(std::move(call));
  }

  /// record_param_comms and "nccl:..." lie around each other, and each says what the other does not.
  void join_communication() {
    std::sort(communication_.begin(), communication_.end(), [](const TimedSpan& a, const TimedSpan& b) {
      return std::tuple(a.thread, a.start, -a.end) < std::tuple(b.thread, b.start, -b.end);
    });
    for (std::size_t outer = 0, i = 1; i < communication_.size(); ++i) {
      const TimedSpan &around = communication_[outer], &span = communication_[i];
      if (span.thread != around.thread || span.start >= around.end) {
        outer = i;
        continue;
      }
      TracedCollective& call = line_.annotated[static_cast<std::size_t>(around.detail)];
      const TracedCollective& inner = line_.annotated[static_cast<std::size_t>(span.detail)];
      if (call.name.empty()) call.name = inner.name;
      if (call.elements_in < 0) {
        call.elements_in = inner.elements_in;
        call.dtype = inner.dtype;
      }
    }
    for (const TimedSpan& span : communication_) line_.communication.add(span);
    line_.communication.finish();
  }

  void add_operator(const TraceEvent& event) {
    if (event.sequence >= 0) line_.forward.push_back(span_of(event, event.sequence));
    const bool product = is_product(event.name), weighted = has_parameters(event.name);
    if (!product && !weighted) return;
    const std::int64_t index = operator_index({event.name, event.dims, event.strides, event.types});
    if (product) line_.products.add(span_of(event, index));
    if (weighted) line_.weighted.add(span_of(event, index));
  }

  /// A step calls the same operators with the same shapes as the one before it.
  std::int64_t operator_index(ShapedOperator op) {
    auto key = std::tie(op.name, op.dims, op.strides, op.types);
    const auto found = known_operators_.find(key);
    if (found != known_operators_.end()) return found->second;
    const auto index = static_cast<std::int64_t>(line_.operators.size());
    known_operators_.emplace(key, index);
    line_.operators.push_back(std::move(op));
    return index;
  }

  TraceTimeline line_;
  using Extents = std::vector<std::vector<std::int64_t>>;
  std::map<std::tuple<std::string, Extents, Extents, std::vector<std::string>>, std::int64_t>
      known_operators_;
  std::vector<TimedSpan> communication_;
  std::unordered_map<std::string, std::int32_t> known_names_;
};

/// `go_on` is asked once for some thousands of events.
TraceTimeline read_events(std::istream& from, const std::string& file, const std::function<bool()>& go_on) {
  TimelineBuilder builder;
  constexpr std::uint64_t events_between = 16384;
  std::uint64_t events = 0;
  TraceFacts facts = read_trace(from, [&](const TraceEvent& event) {
    builder.add(event);
    return ++events % events_between != 0 || go_on();
  });
  const SourcePlace place = place_in(file, facts);
  if (facts.execution_trace && !facts.has_events)
    throw ScenarioError(Diagnostic{
        place, "this is an execution trace (schema \"" + facts.schema + "\"): what ran, without when it ran",
        "take the timeline that torch.profiler writes (export_chrome_trace, tensorboard_trace_handler) in "
        "the same run"});
  if (!facts.has_events)
    throw ScenarioError(Diagnostic{place,
                                   facts.bytes == 0 && facts.damage == "the text ends in the middle"
                                       ? "the file is empty"
                                       : "no trace of the PyTorch profiler: there is no list of events" +
                                             (facts.damage.empty() ? "" : " (" + facts.damage + ")"),
                                   "expected JSON with \"traceEvents\", as export_chrome_trace writes it"});
  return builder.finish(std::move(facts));
}

}  // namespace

void SpanIndex::finish(bool innermost) {
  std::sort(spans_.begin(), spans_.end(), [](const TimedSpan& a, const TimedSpan& b) {
    return std::tuple(a.thread, a.start, -a.end) < std::tuple(b.thread, b.start, -b.end);
  });
  std::vector<TimedSpan> kept;
  for (const TimedSpan& span : spans_) {
    const bool nested = !kept.empty() && kept.back().thread == span.thread && span.start < kept.back().end;
    if (!nested) {
      kept.push_back(span);
    } else if (innermost) {
      // What the outer one does after its child is lost; nobody asks about it.
      if (kept.back().start < span.start) {
        TimedSpan before = kept.back();
        before.end = span.start;
        kept.back() = before;
        kept.push_back(span);
      } else {
        kept.back() = span;
      }
    }
  }
  spans_ = std::move(kept);
}

const TimedSpan* SpanIndex::around(std::int64_t thread, std::int64_t time) const {
  auto after =
      std::upper_bound(spans_.begin(), spans_.end(), std::pair(thread, time),
                       [](const std::pair<std::int64_t, std::int64_t>& wanted, const TimedSpan& span) {
                         return wanted < std::pair(span.thread, span.start);
                       });
  if (after == spans_.begin()) return nullptr;
  const TimedSpan& span = *std::prev(after);
  return span.thread == thread && time <= span.end ? &span : nullptr;
}

const TimedLaunch* TraceTimeline::launch_of(const TimedKernel& kernel) const {
  if (kernel.correlation < 0) return nullptr;
  const auto found = std::lower_bound(
      launches.begin(), launches.end(), kernel.correlation,
      [](const TimedLaunch& launch, std::int64_t wanted) { return launch.correlation < wanted; });
  return found != launches.end() && found->correlation == kernel.correlation ? &*found : nullptr;
}

int TraceTimeline::step_at(std::int64_t time) const {
  const auto after =
      std::upper_bound(steps.begin(), steps.end(), time,
                       [](std::int64_t wanted, const Step& step) { return wanted < step.start; });
  if (after == steps.begin()) return -1;
  const Step& step = *std::prev(after);
  return time <= step.end ? static_cast<int>(std::prev(after) - steps.begin()) : -1;
}

TraceTimeline read_timeline(std::istream& from, const std::string& file) {
  return read_events(from, file, [] { return true; });
}

TraceTimeline read_timeline(const std::string& file, const ReadProgress& progress) {
  std::ifstream stream(file, std::ios::binary);
  std::error_code ignored;
  if (!stream || std::filesystem::is_directory(file, ignored))
    (void)read_file(file);  // says why it can't be read
  if (!progress) return read_timeline(stream, file);
  const std::uintmax_t size = std::filesystem::file_size(file, ignored);
  bool whole = true;
  TraceTimeline timeline = read_events(stream, file, [&] {
    const std::streamoff read = stream.good() ? static_cast<std::streamoff>(stream.tellg()) : 0;
    if (read > 0) whole = progress(static_cast<std::uint64_t>(read), size);
    return whole;
  });
  if (!whole) throw Interrupted();
  return timeline;
}

}  // namespace stepcast
