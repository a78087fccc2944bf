#include "calibrate/import/trace_workload.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "base/diagnostic.hpp"
#include "base/print.hpp"
#include "calibrate/import/toml_text.hpp"
#include "calibrate/import/trace_layers.hpp"
#include "calibrate/import/trace_parts.hpp"
#include "calibrate/import/trace_summary.hpp"
#include "sim/scenario/scenario.hpp"

namespace stepcast {
namespace {

struct LayerTime {
  double forward{}, backward{};  ///< nanoseconds, summed over the micro-batches
};

[[noreturn]] void missing(const TraceSummary& summary, std::string message, const std::string& record) {
  Diagnostic fault;
  fault.place = place_in(summary.file, summary.facts);
  fault.message = std::move(message);
  if (!summary.facts.damage.empty()) fault.message += "; " + damage_note(summary.facts);
  const double steps = std::max<double>(1, static_cast<double>(summary.steps.size()));
  const auto part = [&](StepPart one) {
    return print_time(summary.whole.parts[static_cast<std::size_t>(one)] / steps);
  };
  fault.hint = record + "; or write the layers by hand (docs/import.md): " +
               (summary.steps.empty() ? "in all" : "per step") + " the trace has forward " +
               part(StepPart::forward) + ", backward " + part(StepPart::backward) + ", optimizer " +
               part(StepPart::optimizer);
  throw ScenarioError(std::move(fault));
}

class WorkloadWriter {
 public:
  WorkloadWriter(const TraceTimeline& timeline, const std::string& file, std::optional<std::int64_t> samples)
      : timeline_(timeline),
        summary_(summarise(timeline, file)),
        parts_(timeline),
        samples_(samples),
        batches_(micro_batches(timeline)) {}

  TraceWorkload finish() {
    require_layers();
    choose_model();
    if (cut()) {
      keep_whole();
    } else if (!summary_.facts.damage.empty()) {
      result_.notes.push_back(damage_note(summary_.facts));
    }
    attribute_kernels();
    write();
    return std::move(result_);
  }

 private:
  void require_layers() const {
    if (timeline_.backward.all().empty())
      missing(summary_, "there is no backward in the trace: it is of inference, or without CPU operators",
              "record whole training steps with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]");
    if (!timeline_.shapes)
      missing(summary_, "the trace has no shapes, so that the parameters of layers are not known",
              "record with record_shapes=True");
    if (batches_.empty())
      missing(summary_,
              "no operator with parameters (linear, convolution, norm, embedding) runs before a backward",
              "record whole steps with record_shapes=True, of a model that is not compiled");
  }

  /// The layers that most micro-batches have.
  void choose_model() {
    std::size_t most = 0;
    for (std::size_t i = 0; i < batches_.size(); ++i) {
      std::size_t equal = 0;
      for (const TracedMicroBatch& other : batches_) equal += same_layers(batches_[i], other) ? 1 : 0;
      if (equal > most) {
        most = equal;
        model_ = i;
      }
    }
    result_.micro_batches = most;
    result_.layers = batches_[model_].calls.size();
    times_.resize(result_.layers);
    if (most < batches_.size())
      result_.notes.push_back(std::to_string(batches_.size() - most) + " of " +
                              std::to_string(batches_.size()) +
                              " micro-batches have other layers and were left out");
  }

  /// The micro-batch around a time, when it is one of the model's.
  [[nodiscard]] const TracedMicroBatch* batch_at(std::int64_t time) const {
    const auto after = std::upper_bound(
        batches_.begin(), batches_.end(), time,
        [](std::int64_t wanted, const TracedMicroBatch& batch) { return wanted < batch.begin; });
    if (after == batches_.begin()) return nullptr;
    const TracedMicroBatch& batch = *std::prev(after);
    if (!whole_batches_.empty() && !whole_batches_.contains(&batch)) return nullptr;
    return same_layers(batch, batches_[model_]) ? &batch : nullptr;
  }

  /// A copy between host and device is no work of a layer.
  [[nodiscard]] bool counts(const TimedKernel& kernel) const {
    if (kernel.kind == KernelClass::collective) return false;
    if (kernel.kind != KernelClass::copy) return true;
    const std::string& name = timeline_.names[static_cast<std::size_t>(kernel.name)];
    return name.find("HtoD") == std::string::npos && name.find("DtoH") == std::string::npos;
  }

  /// Events are missing, not only what stands after them.
  [[nodiscard]] bool cut() const { return !summary_.facts.damage.empty() && !summary_.facts.whole_events; }

  /// A step, or where steps are not recorded the micro-batch before: which optimizer step a kernel is of.
  [[nodiscard]] std::int64_t optimizer_step_of(const PartFinder::Place& place) const {
    if (place.step >= 0) return place.step;
    const auto after = std::lower_bound(
        batches_.begin(), batches_.end(), place.launch->start,
        [](const TracedMicroBatch& batch, std::int64_t time) { return batch.backward_begin < time; });
    return -1 - (after - batches_.begin());
  }

  /// By launch: when, and which kernel; -1 is one that the trace lacks.
  using Launched = std::vector<std::pair<std::int64_t, std::int32_t>>;

  /// The largest of the kernel sequences that two or more ran in full, with those that ran it.
  template <class Key>
  static std::set<Key> equal_and_whole(std::map<Key, Launched>& launched) {
    std::map<std::vector<std::int32_t>, std::set<Key>> equal;
    for (auto& [key, kernels] : launched) {
      std::sort(kernels.begin(), kernels.end());
      std::vector<std::int32_t> names;
      for (const auto& [time, name] : kernels) names.push_back(name);
      if (std::find(names.begin(), names.end(), -1) == names.end()) equal[names].insert(key);
    }
    std::set<Key> best;
    std::size_t most = 0;
    for (const auto& [names, keys] : equal) {
      if (keys.size() < 2 || names.size() <= most) continue;
      most = names.size();
      best = keys;
    }
    return best;
  }

  /// Profilers write kernels in no order of time, so that each micro-batch of a trace that is cut may lack
  /// some, with or without their launches. Two that ran the same kernels one after the other lack none.
  void keep_whole() {
    std::map<const TracedMicroBatch*, Launched> of_batch;
    std::map<std::int64_t, Launched> of_optimizer;
    std::set<std::int64_t> correlations, optimized;
    for (const TimedKernel& kernel : timeline_.kernels) {
      correlations.insert(kernel.correlation);
      if (!counts(kernel)) continue;
      const PartFinder::Place place = parts_.place_of(kernel);
      if (place.launch == nullptr) continue;
      const std::pair launched(place.launch->start, kernel.name);
      if (place.part == StepPart::optimizer || place.part == StepPart::other) {
        const std::int64_t step = optimizer_step_of(place);
        of_optimizer[step].push_back(launched);
        if (place.part == StepPart::optimizer) optimized.insert(step);
      } else if (const TracedMicroBatch* batch = batch_at(place.launch->start)) {
        of_batch[batch].push_back(launched);
      }
    }
    for (const TimedLaunch& launch : timeline_.launches) {
      if (!launch.kernel || correlations.contains(launch.correlation)) continue;
      if (const TracedMicroBatch* batch = batch_at(launch.start))
        of_batch[batch].emplace_back(launch.start, -1);
      PartFinder::Place place;
      place.launch = &launch;
      place.step = timeline_.step_at(launch.start);
      if (timeline_.optimizer.around(launch.thread, launch.start) != nullptr)
        of_optimizer[optimizer_step_of(place)].emplace_back(launch.start, -1);
    }
    std::erase_if(of_optimizer, [&](const auto& step) { return !optimized.contains(step.first); });
    whole_batches_ = equal_and_whole(of_batch);
    whole_optimizers_ = equal_and_whole(of_optimizer);
    if (whole_batches_.empty()) {
      Diagnostic fault;
      fault.place = place_in(summary_.file, summary_.facts);
      fault.message = damage_note(summary_.facts) + "; no two of " + std::to_string(result_.micro_batches) +
                      " micro-batches have the same kernels, so that each may lack some";
      fault.hint = "copy or record the trace again; --as profile shows what is left of it";
      throw ScenarioError(std::move(fault));
    }
    result_.notes.push_back(damage_note(summary_.facts) + "; " + std::to_string(whole_batches_.size()) +
                            " of " + std::to_string(result_.micro_batches) +
                            " micro-batches have the same kernels and count, the others may lack some");
    result_.micro_batches = whole_batches_.size();
  }

  void attribute_kernels() {
    std::map<const TracedMicroBatch*, std::size_t> last_backward;
    for (const TimedKernel& kernel : timeline_.kernels) {
      if (!counts(kernel)) continue;
      const PartFinder::Place place = parts_.place_of(kernel);
      const auto time = static_cast<double>(kernel.end - kernel.start);
      if (place.launch == nullptr) continue;
      if (place.part == StepPart::optimizer || place.part == StepPart::other) {
        if (!cut() || whole_optimizers_.contains(optimizer_step_of(place))) optimizer_ += time;
        continue;
      }
      const TracedMicroBatch* batch = batch_at(place.launch->start);
      if (batch == nullptr) continue;
      if (place.part == StepPart::forward) {
        times_[layer_at(*batch, place.launch->start)].forward += time;
      } else {
        std::size_t& layer = last_backward.try_emplace(batch, batch->calls.size() - 1).first->second;
        if (place.backward->detail >= 0) layer = layer_of_sequence(*batch, place.backward->detail);
        times_[layer].backward += time;
      }
    }
  }

  static std::size_t layer_at(const TracedMicroBatch& batch, std::int64_t time) {
    for (std::size_t i = 0; i < batch.calls.size(); ++i)
      if (time <= batch.calls[i].span.end) return i;
    return batch.calls.size() - 1;
  }

  static std::size_t layer_of_sequence(const TracedMicroBatch& batch, std::int64_t sequence) {
    for (std::size_t i = 0; i < batch.calls.size(); ++i)
      if (sequence <= batch.calls[i].last_sequence) return i;
    return batch.calls.size() - 1;
  }

  /// Optimizer.step calls with a backward between them count as steps.
  [[nodiscard]] double optimizer_steps() const {
    if (cut()) return std::max<double>(1, static_cast<double>(whole_optimizers_.size()));
    if (!timeline_.steps.empty()) return static_cast<double>(timeline_.steps.size());
    std::set<const TracedMicroBatch*> before;
    for (const TimedSpan& span : timeline_.optimizer.all()) {
      const TracedMicroBatch* last = nullptr;
      for (const TracedMicroBatch& batch : batches_)
        if (batch.backward_begin < span.start) last = &batch;
      before.insert(last);
    }
    return std::max<double>(1, static_cast<double>(before.size()));
  }

  [[nodiscard]] Dtype precision() const {
    std::map<Dtype, double> time;
    for (const ProductSeries& product : summary_.products)
      time[product.dtype] += product.median.value * static_cast<double>(product.calls);
    const auto most = std::max_element(time.begin(), time.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most != time.end()) return most->first;
    const auto& types = batches_[model_].calls.front().op->types;
    const std::string type = types.empty() ? "" : types.front();
    return type == "c10::BFloat16" ? Dtype::bf16 : type == "c10::Half" ? Dtype::fp16 : Dtype::fp32;
  }

  [[nodiscard]] std::int64_t samples() {
    if (samples_) return *samples_;
    const ShapedOperator& op = *batches_[model_].calls.front().op;
    const std::size_t input = op.name == "aten::embedding" ? 1 : op.name == "aten::addmm" ? 1 : 0;
    if (op.dims.size() <= input || op.dims[input].empty() || op.dims[input].front() < 1) {
      result_.notes.emplace_back(
          "samples_per_micro_batch is not in the trace and was set to 1: --samples gives it");
      return 1;
    }
    const std::int64_t found = op.dims[input].front();
    result_.notes.push_back("samples_per_micro_batch = " + std::to_string(found) +
                            ", the first extent of the first layer's input: --samples gives another");
    return found;
  }

  /// The module's name where modules were recorded, else the operator's with a number.
  std::string name_of_layer(const LayerCall& call, std::size_t number) {
    const TimedSpan* module = timeline_.modules.around(call.span.thread, call.span.start);
    std::string name = module != nullptr
                           ? timeline_.names[static_cast<std::size_t>(module->detail)]
                           : call.op->name.substr(call.op->name.rfind(':') + 1) + std::to_string(number);
    const int used = ++names_[name];
    return used == 1 ? name : name + "." + std::to_string(used);
  }

  void write() {
    const auto batches = static_cast<double>(result_.micro_batches);
    const auto microseconds_text = [](double nanoseconds) {
      return "\"" + number_text(nanoseconds / 1000) + " us\"";
    };
    const TracedMicroBatch& model = batches_[model_];
    std::string& text = result_.toml;
    const std::string stem = std::filesystem::path(summary_.file).filename().string();
    text = "[workload]\nname = " + toml_quoted(stem.substr(0, stem.find(".json"))) +
           "\nsamples_per_micro_batch = " + std::to_string(samples()) + "\nprecision = \"" +
           std::string(stepcast::name_of(precision())) +
           "\"\noptimizer_time = " + microseconds_text(optimizer_ / optimizer_steps()) + "\nsource = " +
           toml_quoted("PyTorch trace " + summary_.file + ": kernel times, means of " +
                       std::to_string(result_.micro_batches) + " micro-batches") +
           "\n";
    if (!summary_.gpu.empty()) text += "measured_on = " + toml_quoted(summary_.gpu) + "\n";
    for (std::size_t i = 0; i < model.calls.size(); ++i) {
      const LayerCall& call = model.calls[i];
      text += "\n[[layer]]\nname = " + toml_quoted(name_of_layer(call, i)) +
              "\nforward_time = " + microseconds_text(times_[i].forward / batches) +
              "\nbackward_time = " + microseconds_text(times_[i].backward / batches) + "\n";
      if (call.buffer_bytes > 0) text += "buffers_bytes = \"" + number_text(call.buffer_bytes) + " B\"\n";
      text += "parameters = [" + parameters_text(call) + "]\n";
    }
    remark();
  }

  std::string parameters_text(const LayerCall& call) {
    std::string text;
    for (const auto& [name, shape] : call.parameters) {
      double count = 1;
      std::string extents;
      for (const std::int64_t extent : shape) {
        count *= static_cast<double>(extent);
        extents += (extents.empty() ? "" : ", ") + std::to_string(extent);
      }
      result_.parameters += count;
      text +=
          (text.empty() ? "" : ", ") + std::string("{ name = \"") + name + "\", shape = [" + extents + "] }";
    }
    return text;
  }

  void remark() {
    result_.notes.push_back(
        print_count(result_.parameters) + " parameters in " + std::to_string(result_.layers) +
        " layers: compare with your model; weights that are used twice count twice, and those "
        "of other operators than linear, convolution, norm and embedding not at all");
    if (optimizer_ <= 0)
      result_.notes.push_back(
          std::string(cut() ? "no two steps of the optimizer with the same kernels" : "no optimizer") +
          " in the trace: optimizer_time is 0, write it by hand");
    const StepTimes& whole = summary_.whole;
    if (!cut() && whole.waiting_for_launch > 0.05 * whole.duration)
      result_.notes.push_back("the GPU waited for the CPU during " +
                              print_share(whole.waiting_for_launch / whole.duration) +
                              " of the trace, which layers of kernel times do not contain");
    if (timeline_.modules.all().empty())
      result_.notes.emplace_back("layers bear operators' names: with_stack=True records modules' names");
  }

  const TraceTimeline& timeline_;
  TraceSummary summary_;
  PartFinder parts_;
  std::optional<std::int64_t> samples_;
  std::vector<TracedMicroBatch> batches_;
  std::size_t model_{};  ///< whose layers are written
  std::vector<LayerTime> times_;
  std::set<const TracedMicroBatch*> whole_batches_;  ///< of a trace that is cut: which count
  std::set<std::int64_t> whole_optimizers_;          ///< and which steps of the optimizer
  double optimizer_{};                               ///< nanoseconds in all
  std::map<std::string, int> names_;
  TraceWorkload result_;
};

}  // namespace

TraceWorkload workload_of(const TraceTimeline& timeline, const std::string& file,
                          std::optional<std::int64_t> samples) {
  return WorkloadWriter(timeline, file, samples).finish();
}

}  // namespace stepcast
