#include "sim/training/layers.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "sim/training/method.hpp"

namespace stepcast {

CostOptions cost_options(const TrainingSection& training) {
  CostOptions options;
  options.compute = training.precision;
  options.parameters = training.parameter_dtype;
  // FSDP's backward writes gradients in the type of the gathered weights; gradient_dtype is what shards add
  // up in.
  options.gradients = method_of(training) == Method::fully_sharded && !is_own_trainer(training)
                          ? training.parameter_dtype
                          : training.gradient_dtype;
  return options;
}

Work measured_work(std::string name, Seconds time) {
  Work work;
  Kernel& kernel = work.kernels.emplace_back();
  kernel.name = std::move(name);
  kernel.kind = KernelClass::gemm;
  kernel.time = time;
  return work;
}

Work workload_work(const PlanInputs& inputs, std::string name, Seconds time) {
  Work work = measured_work(std::move(name), time);
  work.kernels.front().pause = inputs.scenario.training.software == "stepcast-trainer";
  return work;
}

double measured_scale(const PlanInputs& inputs) {
  if (!inputs.model.measured) return 1;
  return static_cast<double>(inputs.scenario.training.micro_batch_size) /
         static_cast<double>(inputs.model.measured->samples_per_micro_batch);
}

Recompute recompute_of(const TrainingSection& training) {
  switch (training.activation_checkpointing) {
    case Checkpointing::none:
      return Recompute::none;
    case Checkpointing::selective:
      return training.software.starts_with("pytorch") ? Recompute::alternate : Recompute::selective;
    case Checkpointing::full:
      return Recompute::full;
  }
  return Recompute::none;
}

bool checkpointed(const Layer& layer) { return layer.kind == LayerKind::block; }

LayerWorks::LayerWorks(const PlanInputs& inputs, StepBuilder& builder)
    : inputs_(inputs), builder_(builder), options_(cost_options(inputs.scenario.training)) {}

const Layer& LayerWorks::layer_of(int layer) const {
  return inputs_.model.layers[static_cast<std::size_t>(layer)];
}

LayerWorks::Cached& LayerWorks::cached(int layer) {
  const Layer& asked = layer_of(layer);
  // Measured layers say nothing about equality; each is its own.
  return cached_[{asked.forward_time ? layer : asked.first_equal, options_.accumulate}];
}

Work LayerWorks::operator_work(const Operator& op, Pass pass) const {
  return inputs_.cost.operator_work(op, pass, inputs_.scenario.training.micro_batch_size, options_);
}

WorkId LayerWorks::forward(int layer) { return whole(layer, Pass::forward); }
WorkId LayerWorks::backward(int layer) { return whole(layer, Pass::backward); }

WorkId LayerWorks::whole(int layer, Pass pass) {
  const bool forward = pass == Pass::forward;
  std::optional<WorkId>& known = forward ? cached(layer).forward : cached(layer).backward;
  if (!known) {
    const Layer& asked = layer_of(layer);
    const std::optional<Seconds>& measured = forward ? asked.forward_time : asked.backward_time;
    known =
        builder_.intern(measured ? workload_work(inputs_, asked.name + (forward ? ".forward" : ".backward"),
                                                 measured_scale(inputs_) * *measured)
                                 : inputs_.cost.layer_work(
                                       asked, pass, inputs_.scenario.training.micro_batch_size, options_));
  }
  return *known;
}

std::optional<WorkId> LayerWorks::recompute(int layer) {
  const Layer& asked = layer_of(layer);
  const Recompute mode = recompute_of(inputs_.scenario.training);
  if (mode == Recompute::none || !checkpointed(asked)) return std::nullopt;
  Cached& known = cached(layer);
  if (!std::exchange(known.recompute_known, true)) {
    if (asked.forward_time) {
      if (mode == Recompute::full) known.recompute = forward(layer);
    } else {
      Work work =
          inputs_.cost.recompute_work(asked, mode, inputs_.scenario.training.micro_batch_size, options_);
      if (!work.kernels.empty()) known.recompute = builder_.intern(std::move(work));
    }
  }
  return known.recompute;
}

const std::vector<BackwardSegment>& LayerWorks::backward_segments(int layer) {
  Cached& known = cached(layer);
  if (known.segments.empty()) known.segments = split_backward(layer_of(layer));
  return known.segments;
}

const std::vector<ModuleUse>& LayerWorks::modules(int layer) {
  Cached& known = cached(layer);
  if (known.modules.empty()) known.modules = split_modules(layer_of(layer));
  return known.modules;
}

std::vector<std::vector<int>> completed_by_operator(const Layer& layer) {
  std::vector<bool> taken(layer.parameters.size());
  std::vector<std::vector<int>> completed;
  for (const Operator& op : layer.operators) {
    std::vector<int>& own = completed.emplace_back();
    for (const int parameter : op.parameters) {
      if (!taken[static_cast<std::size_t>(parameter)]) own.push_back(parameter);
      taken[static_cast<std::size_t>(parameter)] = true;
    }
    std::sort(own.rbegin(), own.rend());
  }
  return completed;
}

namespace {

std::vector<int> reverse_registration(const Layer& layer) {
  std::vector<int> order;
  for (int p = static_cast<int>(layer.parameters.size()) - 1; p >= 0; --p) order.push_back(p);
  return order;
}

std::string module_of(const std::string& parameter) {
  const auto dot = parameter.rfind('.');
  return dot == std::string::npos ? parameter : parameter.substr(0, dot);
}

}  // namespace

std::vector<BackwardSegment> LayerWorks::split_backward(const Layer& layer) {
  if (layer.backward_time) {
    const Seconds whole = measured_scale(inputs_) * *layer.backward_time;
    const Seconds until = layer.gradient_ready_time
                              ? std::min(whole, measured_scale(inputs_) * *layer.gradient_ready_time)
                              : whole;
    std::vector<BackwardSegment> segments{
        {builder_.intern(workload_work(inputs_, layer.name + ".backward", until)),
         reverse_registration(layer)}};
    if (until < whole) {
      segments.push_back(
          {builder_.intern(workload_work(inputs_, layer.name + ".backward", whole - until)), {}});
    }
    return segments;
  }
  const std::vector<std::vector<int>> completed = completed_by_operator(layer);
  std::vector<BackwardSegment> segments;
  std::vector<bool> ready(layer.parameters.size());
  Work open;
  for (std::size_t i = layer.operators.size(); i-- > 0;) {
    open.append(operator_work(layer.operators[i], Pass::backward));
    if (completed[i].empty()) continue;
    segments.push_back({builder_.intern(std::exchange(open, {})), completed[i]});
    for (const int parameter : completed[i]) ready[static_cast<std::size_t>(parameter)] = true;
  }
  // Parameters that no operator names are ready when the layer is done.
  BackwardSegment last;
  for (const int parameter : reverse_registration(layer)) {
    if (!ready[static_cast<std::size_t>(parameter)]) last.ready.push_back(parameter);
  }
  if (!open.kernels.empty() || !last.ready.empty() || segments.empty()) {
    last.work = builder_.intern(std::move(open));
    segments.push_back(std::move(last));
  }
  return segments;
}

std::vector<ModuleUse> LayerWorks::split_modules(const Layer& layer) {
  struct Draft {
    std::vector<int> parameters;
    Work forward, backward, recompute;
  };
  std::vector<Draft> drafts;
  const Recompute mode = recompute_of(inputs_.scenario.training);
  if (layer.forward_time) {
    Draft& all = drafts.emplace_back();
    for (int p = 0; p < static_cast<int>(layer.parameters.size()); ++p) all.parameters.push_back(p);
    all.forward = measured_work(layer.name + ".forward", measured_scale(inputs_) * *layer.forward_time);
    all.backward = measured_work(layer.name + ".backward", measured_scale(inputs_) * *layer.backward_time);
    if (mode == Recompute::full) all.recompute = all.forward;
  }
  Draft before;  // what runs ahead of the first module with parameters
  for (const Operator& op : layer.operators) {
    std::vector<int> parameters = op.parameters;
    std::sort(parameters.begin(), parameters.end());
    std::string last_module;
    for (const int parameter : parameters) {
      std::string module = module_of(layer.parameters[static_cast<std::size_t>(parameter)].name);
      if (drafts.empty() || module != last_module) {
        drafts.emplace_back(std::exchange(before, {}));
        last_module = std::move(module);
      }
      drafts.back().parameters.push_back(parameter);
    }
    // An operator that stands for several modules (query, key, value) runs when the last of them is there.
    Draft& draft = drafts.empty() ? before : drafts.back();
    draft.forward.append(operator_work(op, Pass::forward));
    Work backward = operator_work(op, Pass::backward);
    backward.append(draft.backward);
    draft.backward = std::move(backward);
    if (is_recomputed(op, mode) && checkpointed(layer))
      draft.recompute.append(operator_work(op, Pass::forward));
  }
  if (!before.forward.kernels.empty() || drafts.empty()) drafts.push_back(std::move(before));
  std::vector<bool> named(layer.parameters.size());
  for (const Draft& draft : drafts) {
    for (const int parameter : draft.parameters) named[static_cast<std::size_t>(parameter)] = true;
  }
  for (std::size_t p = 0; p < named.size(); ++p) {
    if (!named[p]) drafts.back().parameters.push_back(static_cast<int>(p));
  }
  std::vector<ModuleUse> modules;
  for (Draft& draft : drafts) {
    ModuleUse& use = modules.emplace_back();
    for (const int parameter : draft.parameters) {
      use.elements += static_cast<double>(layer.parameters[static_cast<std::size_t>(parameter)].count());
    }
    use.parameters = std::move(draft.parameters);
    use.forward = builder_.intern(std::move(draft.forward));
    use.backward = builder_.intern(std::move(draft.backward));
    use.recompute = builder_.intern(std::move(draft.recompute));
  }
  return modules;
}

}  // namespace stepcast
