#include <algorithm>

#include "calibrate/trainer/graph.hpp"
#include "calibrate/trainer/trainer.hpp"
#include "sim/scenario/defaults.hpp"

namespace stepcast {
namespace {

std::string unsupported_setting(const TrainingSection& training) {
  TrainingSection usual = training;
  set_default_dtypes(usual);
  if (training.software != "stepcast-trainer") {
    return "training.software \"" + training.software +
           "\" is not what the trainer is: it runs software = \"stepcast-trainer\"";
  }
  std::string what;
  if (training.optimizer != OptimizerKind::adamw) {
    what = "optimizer \"" + std::string(name_of(training.optimizer)) + "\"";
  } else if (training.activation_checkpointing != Checkpointing::none) {
    what = "activation_checkpointing";
  } else if (training.find_unused_parameters) {
    what = "find_unused_parameters";
  } else if (training.parameter_dtype != usual.parameter_dtype ||
             training.gradient_dtype != usual.gradient_dtype || training.reduce_dtype != usual.reduce_dtype ||
             training.optimizer_dtype != usual.optimizer_dtype) {
    what = "types other than the default of each strategy";
  }
  return what.empty() ? "" : "training: " + what + " is not built into the trainer";
}

}  // namespace

std::string cannot_train(const Model& model, const TrainingSection& training, const ComputeDevice& device) {
  std::string setting = unsupported_setting(training);
  if (!setting.empty()) return setting;
  const std::vector<Dtype>& types = device.facts().dtypes;
  const bool trains_in = training.precision == Dtype::fp32 || training.precision == Dtype::bf16;
  if (!trains_in || std::find(types.begin(), types.end(), training.precision) == types.end()) {
    return "training.precision " + std::string(name_of(training.precision)) +
           " does not run here: the trainer computes in fp32, on GPUs that have it also in bf16";
  }
  const Graph graph = read_graph(model);
  if (graph.unsupported.empty()) return "";
  return graph.unsupported +
         " is not built into the trainer: it trains GPT-2-shaped and mlp models without dropout, and paced "
         "workloads; compare your own run with --measured LOG";
}

}  // namespace stepcast
