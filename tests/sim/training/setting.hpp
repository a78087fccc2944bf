#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "models/build_model.hpp"
#include "sim/engine/simulate.hpp"
#include "sim/scenario/defaults.hpp"
#include "sim/training/plan.hpp"
#include "topology/cluster.hpp"

namespace stepcast {

inline SourcePlace test_place() {
  SourcePlace place;
  place.file = "test.toml";
  return place;
}

/// A question for tests: shipped node, fabric and profiles, and a model of the test's own or a preset.
class Setting {
 public:
  Setting(Strategy strategy, const std::string& software, int nodes = 1, int gpus_per_node = 8) {
    const SourcePlace place = test_place();
    scenario.cluster.nodes = nodes;
    scenario.cluster.node = "hgx-h100";
    scenario.cluster.gpus_per_node = gpus_per_node;
    scenario.cluster.fabric = "infiniband-400g";
    scenario.cluster.node_spec = load_node(scenario.cluster.node, place);
    scenario.cluster.fabric_spec = load_fabric(scenario.cluster.fabric, place);
    scenario.training.strategy = strategy;
    scenario.training.software = software;
    scenario.training.shard_degree = gpus_per_node;
    set_default_dtypes(scenario.training);
    scenario.training.gradient_sync = default_gradient_sync(scenario.training);
  }

  Setting& with(const Model& own) {
    model = own;
    return *this;
  }
  Setting& preset(const std::string& name, std::int64_t sequence = 1024) {
    ModelRequest request;
    request.preset = name;
    request.sequence_length = sequence;
    model = build_model(request, test_place());
    return *this;
  }

  /// Everything that planning needs; built once, from what `scenario` says then.
  const PlanInputs& inputs() {
    if (inputs_) return *inputs_;
    const SourcePlace place = test_place();
    profile_ = std::make_unique<Profile>(load_profile(scenario.cluster.node_spec.gpu,
                                                      scenario.cluster.node_spec.name,
                                                      scenario.training.software, {}, place));
    cost_ = std::make_unique<CostModel>(profile_->gpu, profile_->software);
    ClusterRequest request;
    request.nodes = scenario.cluster.nodes;
    request.node = scenario.cluster.node_spec;
    request.gpus_per_node = scenario.cluster.gpus_per_node;
    request.fabric = scenario.cluster.fabric_spec;
    collectives_ = std::make_unique<CollectiveModel>(std::make_shared<const Cluster>(request), *profile_);
    inputs_ = std::make_unique<PlanInputs>(PlanInputs{scenario, model, *profile_, *cost_, *collectives_});
    return *inputs_;
  }

  StepPlan plan(const PlanOptions& options = {}) { return plan_step(inputs(), options); }
  const Profile& profile() {
    inputs();
    return *profile_;
  }

  Scenario scenario;
  Model model;

 private:
  std::unique_ptr<Profile> profile_;
  std::unique_ptr<CostModel> cost_;
  std::unique_ptr<CollectiveModel> collectives_;
  std::unique_ptr<PlanInputs> inputs_;
};

/// A chain of square products, 64 rows a sample: an embedding of `vocabulary` x `width`, `blocks` blocks of
/// `per_block` weights, and a head with its own weight. Every weight is width x width but the first and the
/// last.
inline Model chain_model(int blocks, std::int64_t width, int per_block = 2, std::int64_t vocabulary = 1024) {
  Model model;
  model.name = "chain";
  model.family = "test";
  model.sequence_length = 64;
  model.vocabulary = vocabulary;
  model.logits_elements = 64.0 * static_cast<double>(vocabulary);
  const auto product = [&](Layer& layer, const std::string& name, std::int64_t rows, std::int64_t columns) {
    layer.parameters.push_back({name + ".weight", {columns, rows}});
    Operator op;
    op.name = name;
    op.kind = OperatorKind::gemm;
    op.gemm.rows = 64;
    op.gemm.columns = columns;
    op.gemm.depth = rows;
    op.saved_eager.elements = op.saved_fused.elements = 64.0 * static_cast<double>(columns);
    op.parameters = {static_cast<int>(layer.parameters.size()) - 1};
    layer.operators.push_back(op);
    layer.output_elements = 64.0 * static_cast<double>(columns);
  };
  for (int i = 0; i < blocks + 2; ++i) {
    Layer layer;
    layer.first_equal = i;
    if (i == 0) {
      layer.name = "embedding";
      layer.kind = LayerKind::embedding;
      product(layer, "weight", vocabulary, width);
    } else if (i == blocks + 1) {
      layer.name = "head";
      layer.kind = LayerKind::head;
      product(layer, "head", width, vocabulary);
    } else {
      layer.name = "blocks." + std::to_string(i - 1);
      layer.first_equal = 1;
      for (int w = 0; w < per_block; ++w) product(layer, "linear" + std::to_string(w), width, width);
    }
    model.layers.push_back(layer);
  }
  model.active_parameter_count = model.parameter_count();
  return model;
}

/// Calls and payload bytes of one operation in one program, as rank 0 sees them.
struct Traffic0 {
  int calls{};
  double bytes{};
};
inline Traffic0 traffic(const Program& program, const std::string& operation, const std::string& group = "") {
  Traffic0 sum;
  for (const Task& task : program.tasks) {
    if (task.kind != TaskKind::collective || task.rank != 0) continue;
    const auto& call = program.collectives[static_cast<std::size_t>(task.payload)];
    const auto& cost = program.collective_costs[static_cast<std::size_t>(call.cost)];
    const auto& description = program.descriptions[static_cast<std::size_t>(cost.description)];
    if (description.operation != operation || (!group.empty() && description.group != group)) continue;
    if (description.bytes <= 4) continue;  // overflow and norm checks
    ++sum.calls;
    sum.bytes += description.bytes;
  }
  return sum;
}

inline int task_named(const Program& program, const std::string& name, int nth = 0) {
  for (std::size_t i = 0; i < program.tasks.size(); ++i) {
    if (program.tasks[i].rank == 0 &&
        program.names[static_cast<std::size_t>(program.tasks[i].name)] == name && nth-- == 0) {
      return static_cast<int>(i);
    }
  }
  throw std::runtime_error("no task " + name);
}

inline double seconds(Picoseconds time) { return static_cast<double>(time) * 1e-12; }

}  // namespace stepcast
