#include "calibrate/import/trace_summary.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/diagnostic.hpp"
#include "calibrate/cuda/device_name.hpp"
#include "calibrate/import/intervals.hpp"
#include "calibrate/import/trace_collectives.hpp"
#include "calibrate/import/trace_parts.hpp"
#include "calibrate/import/trace_products.hpp"
#include "sim/cost/profile.hpp"

namespace stepcast {
namespace {

Seconds seconds(std::int64_t nanoseconds) { return Seconds(static_cast<double>(nanoseconds) * 1e-9); }

/// The stream on which most of the computing is done, with its device.
std::pair<int, int> compute_stream(const TraceTimeline& timeline) {
  std::map<std::pair<int, int>, std::int64_t> time;
  for (const TimedKernel& kernel : timeline.kernels) {
    if (kernel.kind != KernelClass::collective && kernel.kind != KernelClass::copy)
      time[{kernel.device, kernel.stream}] += kernel.end - kernel.start;
  }
  const auto most = std::max_element(time.begin(), time.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == time.end() ? std::pair(-1, -1) : most->first;
}

class Summariser {
 public:
  Summariser(const TraceTimeline& timeline, const std::string& file) : timeline_(timeline), parts_(timeline) {
    summary_.file = file;
    summary_.facts = timeline.facts;
    for (const TraceTimeline::Step& step : timeline.steps) {
      StepTimes times;
      times.number = step.number;
      times.duration = seconds(step.end - step.start);
      summary_.steps.push_back(times);
    }
    places_.reserve(timeline.kernels.size());
    for (const TimedKernel& kernel : timeline.kernels) {
      places_.push_back(parts_.place_of(kernel));
      if (kernel.kind == KernelClass::collective) {
        communication_.add(kernel.start, kernel.end);
      } else if (kernel.kind != KernelClass::copy) {
        computing_.add(kernel.start, kernel.end);
      }
    }
  }

  TraceSummary summarise() {
    name_gpu();
    count_kernels();
    find_gaps();
    measure_launches();
    measure_copies();
    summary_.collectives = collective_series(timeline_, places_, computing_);
    for (const TracedSeries& series : summary_.collectives) {
      for (const TracedSeries::Call& call : series.calls) {
        summary_.whole.exposed_communication += call.exposed;
        if (call.step >= 0)
          summary_.steps[static_cast<std::size_t>(call.step)].exposed_communication += call.exposed;
      }
    }
    summary_.products = product_series(timeline_);
    remark();
    return std::move(summary_);
  }

 private:
  void name_gpu() {
    if (timeline_.kernels.empty()) return;
    const int device = compute_stream(timeline_).first;
    const auto& devices = summary_.facts.devices;
    const TraceFacts::Device* found = nullptr;
    for (const TraceFacts::Device& one : devices)
      if (one.id == device) found = &one;
    if (found == nullptr && devices.size() == 1) found = &devices.front();
    if (found == nullptr) return;
    summary_.gpu = found->name;
    summary_.gpu_profile = gpu_profile_name(found->name);
  }

  /// The whole trace's figures, and those of the kernel's step.
  template <class Add>
  void add_to(int step, Add add) {
    add(summary_.whole);
    if (step >= 0) add(summary_.steps[static_cast<std::size_t>(step)]);
  }

  void count_kernels() {
    std::map<std::int32_t, KernelTime> names;
    std::int64_t end = timeline_.kernels.front().end;
    for (std::size_t i = 0; i < timeline_.kernels.size(); ++i) {
      const TimedKernel& kernel = timeline_.kernels[i];
      const Seconds time = seconds(kernel.end - kernel.start);
      end = std::max(end, kernel.end);
      add_to(places_[i].step, [&](StepTimes& times) {
        ClassTime& of_class = times.classes[static_cast<std::size_t>(kernel.kind)];
        ++of_class.count;
        of_class.time += time;
        if (kernel.kind != KernelClass::collective && kernel.kind != KernelClass::copy)
          times.parts[static_cast<std::size_t>(places_[i].part)] += time;
      });
      KernelTime& of_name = names[kernel.name];
      of_name.kind = kernel.kind;
      ++of_name.total.count;
      of_name.total.time += time;
    }
    summary_.whole.duration = seconds(end - timeline_.kernels.front().start);
    for (auto& [name, times] : names) {
      times.name = timeline_.names[static_cast<std::size_t>(name)];
      summary_.triton = summary_.triton || times.name.starts_with("triton_");
      summary_.kernels.push_back(std::move(times));
    }
    std::sort(summary_.kernels.begin(), summary_.kernels.end(),
              [](const KernelTime& a, const KernelTime& b) { return a.total.time > b.total.time; });
  }

  /// A gap ends with a kernel of the compute stream. While a collective runs, it is the wait for that; else
  /// until the kernel's launch returns, for the CPU; what is left, for something else.
  void find_gaps() {
    const auto [device, stream] = compute_stream(timeline_);
    std::int64_t busy_until = -1;
    for (std::size_t i = 0; i < timeline_.kernels.size(); ++i) {
      const TimedKernel& kernel = timeline_.kernels[i];
      if (kernel.device != device || kernel.stream != stream) continue;
      if (busy_until >= 0 && kernel.start > busy_until) {
        const std::int64_t gap = kernel.start - busy_until;
        const std::int64_t communication = communication_.covered(busy_until, kernel.start);
        std::int64_t launch = 0;
        if (const TimedLaunch* call = places_[i].launch) {
          const std::int64_t launched = std::clamp(call->end, busy_until, kernel.start);
          launch = launched - busy_until - communication_.covered(busy_until, launched);
        }
        add_to(places_[i].step, [&](StepTimes& times) {
          times.waiting_for_communication += seconds(communication);
          times.waiting_for_launch += seconds(launch);
          times.waiting_for_other += seconds(gap - communication - launch);
        });
      }
      busy_until = std::max(busy_until, kernel.end);
    }
  }

  void measure_launches() {
    std::vector<std::int64_t> times;
    for (const TimedLaunch& launch : timeline_.launches)
      if (launch.kernel) times.push_back(launch.end - launch.start);
    summary_.launches = static_cast<std::int64_t>(times.size());
    if (times.empty()) return;
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    summary_.launch_median = seconds(*middle);
  }

  void measure_copies() {
    std::map<std::string, std::pair<CopySeries, std::vector<double>>> kinds;
    for (const TimedKernel& kernel : timeline_.kernels) {
      if (kernel.kind != KernelClass::copy) continue;
      auto& [series, rates] = kinds[timeline_.names[static_cast<std::size_t>(kernel.name)]];
      const double bytes = timeline_.copied_bytes[static_cast<std::size_t>(kernel.call)];
      const Seconds time = seconds(kernel.end - kernel.start);
      ++series.count;
      series.time += time;
      if (bytes > 0) series.bytes += Bytes(bytes);
      const bool on_device =
          timeline_.names[static_cast<std::size_t>(kernel.name)].find("DtoD") != std::string::npos;
      if (bytes >= (on_device ? large_device_copy : large_copy).value && time > Seconds(0))
        rates.push_back(bytes / time.value);
    }
    for (auto& [kind, found] : kinds) {
      auto& [series, rates] = found;
      series.kind = kind;
      series.large = static_cast<std::int64_t>(rates.size());
      if (!rates.empty()) {
        const auto middle = rates.begin() + static_cast<std::ptrdiff_t>(rates.size() / 2);
        std::nth_element(rates.begin(), middle, rates.end());
        series.large_rate = BytesPerSecond(*middle);
      }
      summary_.copies.push_back(std::move(series));
    }
  }

  void remark() {
    std::vector<std::string>& notes = summary_.notes;
    const TraceFacts& facts = timeline_.facts;
    if (!facts.damage.empty()) notes.push_back(damage_note(facts));
    if (timeline_.steps.empty())
      notes.emplace_back("no steps: figures are of the whole trace (call profiler.step() after each)");
    std::size_t unlaunched = 0, unsized = 0;
    for (std::size_t i = 0; i < timeline_.kernels.size(); ++i)
      if (places_[i].launch == nullptr) ++unlaunched;
    if (unlaunched > 0)
      notes.push_back(std::to_string(unlaunched) + " of " + std::to_string(timeline_.kernels.size()) +
                      " kernels without a launch in the trace: not told apart by forward and backward");
    for (const TracedSeries& series : summary_.collectives)
      if (!series.size) unsized += series.calls.size();
    if (unsized > 0)
      notes.push_back(std::to_string(unsized) +
                      " collectives without a size: traces of PyTorch 2.2 or newer have it, older ones with "
                      "record_shapes=True");
    if (summary_.gpu.empty()) {
      notes.emplace_back("the trace does not name the GPU");
    } else {
      const std::vector<std::string> known = gpu_profile_names();
      if (std::find(known.begin(), known.end(), summary_.gpu_profile) == known.end())
        notes.push_back("no shipped profile is called " + summary_.gpu_profile + " (\"" + summary_.gpu +
                        "\")");
    }
  }

  const TraceTimeline& timeline_;
  PartFinder parts_;
  TraceSummary summary_;
  std::vector<PartFinder::Place> places_;
  Intervals communication_, computing_;
};

[[noreturn]] void nothing_ran(const TraceTimeline& timeline, const std::string& file) {
  Diagnostic fault;
  const TraceFacts& facts = timeline.facts;
  fault.place = place_in(file, facts);
  if (timeline.counter_ranges > 0) {
    fault.message = "the trace holds hardware counters of " + std::to_string(timeline.counter_ranges) +
                    " kernels, and not when they ran";
    fault.hint = "record without experimental_config's profiler_metrics, which also runs kernels one by one";
  } else if (timeline.cpu_operators > 0) {
    fault.message = "a trace of a CPU alone: " + std::to_string(timeline.cpu_operators) +
                    " operators, and no kernel of a GPU";
    fault.hint =
        "record with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]; if others of the job have "
        "kernels, take a trace of theirs";
  } else {
    fault.message = "the trace holds " + std::to_string(facts.events) + " events, none of them a kernel";
  }
  if (!facts.damage.empty())
    fault.message += "; " + facts.damage + " after byte " + std::to_string(facts.bytes);
  throw ScenarioError(std::move(fault));
}

}  // namespace

std::string_view name_of(StepPart part) {
  constexpr std::array<std::string_view, step_parts> names = {"forward", "backward", "optimizer", "other"};
  return names[static_cast<std::size_t>(part)];
}

TraceSummary summarise(const TraceTimeline& timeline, const std::string& file) {
  if (timeline.kernels.empty()) nothing_ran(timeline, file);
  return Summariser(timeline, file).summarise();
}

}  // namespace stepcast
