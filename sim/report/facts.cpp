#include "sim/report/facts.hpp"

#include <algorithm>

#include "base/print.hpp"

namespace stepcast {
namespace {

bool has_attention(const Model& model) {
  return std::any_of(model.layers.begin(), model.layers.end(), [](const Layer& layer) {
    return std::any_of(layer.operators.begin(), layer.operators.end(),
                       [](const Operator& op) { return op.kind == OperatorKind::attention; });
  });
}

/// A fabric without a file of its own is built from its neighbours.
std::string network_origin(const Scenario& scenario, const NetworkUse& network) {
  const ClusterSection& cluster = scenario.cluster;
  if (cluster.nodes <= 1) return "";
  if (network.measured) return std::string(name_of(Origin::measured));
  const bool guessed = network.extrapolated || cluster.fabric_spec.interpolated;
  return std::string(name_of(guessed ? Origin::extrapolated : Origin::published));
}

/// What products really run in, where the GPU lacks the units that were asked for.
std::string about_precision(const Scenario& scenario, const Model& model, const GpuProfile& gpu) {
  const Dtype asked = scenario.training.precision;
  if (model.measured) {
    const std::string& measured = model.measured->precision;
    if (measured.empty() || measured == name_of(asked)) return "";
    return "the workload was measured in " + measured + " and training.precision is " +
           std::string(name_of(asked)) + ": its times are used as measured, sizes follow training.precision";
  }
  const Dtype used = effective_dtype(gpu, asked);
  if (used == asked) return "";
  const std::string units(name_of(used));
  std::string text = gpu.name + " has no " + std::string(name_of(asked)) + " units: products run at the " +
                     units + " rate, and mfu and hfu are shares of the " + units + " peak";
  if (used != Dtype::fp32) return text;
  for (const Dtype other : {Dtype::fp16, Dtype::bf16}) {
    if (other == asked || !gpu.peak.contains(other)) continue;
    return text + "; " + std::string(name_of(other)) + " would use its tensor cores";
  }
  return text;
}

}  // namespace

bool sockets_limit(const Scenario& scenario) {
  const FabricSpec& fabric = scenario.cluster.fabric_spec;
  return scenario.cluster.nodes > 1 && !scenario.nccl.tuned_sockets &&
         fabric.flow_ceiling > BytesPerSecond(0) && fabric.sockets_untuned > 0 &&
         fabric.sockets_untuned * fabric.flow_ceiling < fabric.efficiency * fabric.link_rate;
}

NamedText origins_of(const Scenario& scenario, const Model& model, const Profile& profile,
                     const NetworkUse& network) {
  const auto text = [](Origin origin) { return std::string(name_of(origin)); };
  NamedText origins;
  if (model.measured) {
    origins = {{"gemm", text(Origin::measured)}, {"attention", text(Origin::measured)}};
  } else {
    origins = {{"gemm", text(profile.gpu.gemm_origin)},
               {"attention", has_attention(model) ? text(profile.gpu.attention_origin) : ""}};
  }
  const bool nvlink = scenario.cluster.node_spec.nvlink != NodeSpec::Nvlink::none;
  origins.emplace_back("memory", text(profile.gpu.memory_origin));
  origins.emplace_back("nvlink", nvlink ? text(profile.links.origin) : "");
  origins.emplace_back("network", network_origin(scenario, network));
  origins.emplace_back("software", text(profile.software.origin));
  return origins;
}

NamedText dtypes_of(const TrainingSection& training) {
  const auto text = [](Dtype type) { return std::string(name_of(type)); };
  return {{"parameter_dtype", text(training.parameter_dtype)},
          {"gradient_dtype", text(training.gradient_dtype)},
          {"reduce_dtype", text(training.reduce_dtype)},
          {"optimizer_dtype", text(training.optimizer_dtype)},
          {"precision", text(training.precision)}};
}

std::vector<std::string> warnings_of(const Scenario& scenario, const Model& model, const Profile& profile,
                                     const PointReport& point) {
  std::vector<std::string> warnings = scenario.notes;
  warnings.insert(warnings.end(), profile.notes.begin(), profile.notes.end());
  if (std::string text = about_precision(scenario, model, profile.gpu); !text.empty()) {
    warnings.push_back(std::move(text));
  }
  const MemoryReport& memory = point.memory;
  if (!memory.fits()) {
    const Bytes needed = memory.allocated_peak() + memory.framework;
    warnings.push_back("does not fit: needs " + print_size(needed) + " of " + print_size(memory.capacity) +
                       " per GPU, " + print_size(needed - memory.capacity) + " too much");
  }
  if (point.tuned_step_time) {
    const FabricSpec& fabric = scenario.cluster.fabric_spec;
    warnings.push_back(
        "TCP: NCCL's default of " + std::to_string(fabric.sockets_untuned) +
        " connections between two nodes is assumed, " + print_rate(fabric.flow_ceiling) + " each; with " +
        std::to_string(fabric.sockets_tuned) +
        " (NCCL_SOCKET_NTHREADS, NCCL_NSOCKS_PERTHREAD; nccl.sockets = \"tuned\") the step takes " +
        print_time(*point.tuned_step_time) + " instead of " + print_time(point.step_time));
  }
  return warnings;
}

}  // namespace stepcast
