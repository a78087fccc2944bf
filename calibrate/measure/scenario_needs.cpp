#include "calibrate/measure/scenario_needs.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "models/build_model.hpp"
#include "sim/report/report.hpp"

namespace stepcast {
namespace {

class Needs {
 public:
  Needs(const DeviceFacts& device, const RankPlace& place) : device_(device), place_(place) {}

  void add(const Scenario& scenario) {
    const Model model = build_model(scenario.model.request, scenario.model.place);
    for (std::size_t i = 0; i < model.layers.size(); ++i) {
      if (model.layers[i].first_equal != static_cast<int>(i)) continue;
      for (const Operator& op : model.layers[i].operators) add(op, scenario.training);
    }
    if (place_.size > 1 && scenario.gpus() > 1) add_collectives(scenario);
  }
  [[nodiscard]] std::vector<Measurement> take() { return std::move(needs_); }

 private:
  void add(Measurement what) {
    if (std::find(needs_.begin(), needs_.end(), what) == needs_.end()) needs_.push_back(std::move(what));
  }

  [[nodiscard]] Dtype type_of(const TrainingSection& training) const {
    const auto& types = device_.dtypes;
    const bool known = std::find(types.begin(), types.end(), training.precision) != types.end();
    return known ? training.precision : Dtype::fp32;
  }

  void add(const Operator& op, const TrainingSection& training) {
    if (op.kind == OperatorKind::gemm && op.gemm.has_weight && op.gemm.groups == 1) {
      const std::int64_t rows =
          std::max<std::int64_t>(1, std::llround(op.gemm.rows * training.micro_batch_size));
      for (Measurement& product :
           products_of_linear(rows, op.gemm.columns, op.gemm.depth, type_of(training))) {
        const bool is_input_gradient = !product.transpose_a && !product.transpose_b;
        if (op.gemm.input_gradient || !is_input_gradient) add(std::move(product));
      }
    }
    if (op.kind == OperatorKind::attention) add_attention(op.attention, training);
  }

  void add_attention(const AttentionWork& work, const TrainingSection& training) {
    const bool ours = work.causal && work.window == 0 && work.query_length == work.key_length &&
                      work.head_dim == work.value_dim;
    if (!ours) return;
    for (const Pass pass : {Pass::forward, Pass::backward}) {
      Measurement what;
      what.kind = Measurement::Kind::attention;
      what.dtype = type_of(training);
      what.samples = training.micro_batch_size;
      what.heads = work.query_heads;
      what.head_dim = work.head_dim;
      what.length = work.query_length;
      what.pass = pass;
      add(what);
    }
  }

  void add_collectives(Scenario scenario) {
    // More micro-batches repeat what two have.
    scenario.training.gradient_accumulation_steps =
        std::min(2, scenario.training.gradient_accumulation_steps);
    const RankGroup all = rank_groups(place_).front();
    for (const CollectiveDescription& call : predictor_.trace(scenario).first.program.descriptions) {
      for (const Operation operation :
           {Operation::all_reduce, Operation::all_gather, Operation::reduce_scatter, Operation::broadcast}) {
        if (name_of(operation) != call.operation || call.ranks < 2 || call.bytes < 1) continue;
        Measurement what;
        what.kind = Measurement::Kind::collective;
        what.collective = operation;
        what.bytes = Bytes(call.bytes);
        what.ranks = all.ranks;
        what.group = all.name;
        what.nodes = all.nodes;
        add(what);
      }
    }
  }

  const DeviceFacts& device_;
  const RankPlace& place_;
  Predictor predictor_;
  std::vector<Measurement> needs_;
};

}  // namespace

std::vector<Measurement> scenario_needs(const ScenarioFile& file, const DeviceFacts& device,
                                        const RankPlace& place) {
  Needs needs(device, place);
  for (const ScenarioPoint& point : expand(file)) {
    if (point.scenario) needs.add(*point.scenario);
  }
  return needs.take();
}

}  // namespace stepcast
