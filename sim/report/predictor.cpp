#include <algorithm>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include "models/build_model.hpp"
#include "sim/report/bottleneck.hpp"
#include "sim/report/breakdown.hpp"
#include "sim/report/collective_model.hpp"
#include "sim/report/communication.hpp"
#include "sim/report/facts.hpp"
#include "sim/report/links.hpp"
#include "sim/report/network.hpp"
#include "sim/report/report.hpp"
#include "sim/training/layers.hpp"

namespace stepcast {
namespace {

/// Keys of the memo: every input that the made value depends on, in a form that cannot run together.
class Key {
 public:
  template <class T>
  Key& add(const T& part) {
    text_ << part << '\n';
    return *this;
  }
  [[nodiscard]] std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
};

std::string model_key(const ModelRequest& request) {
  return Key()
      .add(request.preset)
      .add(request.huggingface.string())
      .add(request.config ? request.config->to_text() : "")
      .add(request.workload.string())
      .add(request.sequence_length.value_or(0))
      .text();
}

std::string cluster_key(const ClusterSection& cluster) {
  Key key;
  key.add(cluster.nodes)
      .add(cluster.node)
      .add(cluster.gpus_per_node)
      .add(cluster.fabric)
      .add(cluster.fabric_spec.link_rate.value)
      .add(cluster.fabric_spec.link_latency.value)
      .add(cluster.fabric_spec.nics_per_node)
      .add(static_cast<int>(cluster.fabric_spec.sharp))
      .add(cluster.topology)
      .add(cluster.oversubscription)
      .add(cluster.core_oversubscription)
      .add(cluster.dragonfly_group)
      .add(cluster.dragonfly_links)
      .add(cluster.torus_link_rate.value)
      .add(cluster.routing)
      .add(cluster.routing_seed);
  for (const int size : cluster.torus) key.add(size);
  key.add("torus");
  for (const NodeGroup& group : cluster.node_groups) {
    key.add(group.first).add(group.count).add(group.node.name);
    key.add(group.link_rate.value_or(BytesPerSecond{}).value).add(group.nics_per_node.value_or(0));
  }
  for (const LinkFault& fault : cluster.faults) key.add(fault.at).add(fault.remaining);
  for (const BackgroundLoad& load : cluster.background) {
    key.add(load.at).add(load.share).add(load.from).add(load.to);
    key.add(load.rate.value_or(BytesPerSecond{}).value);
  }
  return key.text();
}

std::string nccl_key(const NcclOptions& nccl) {
  Key key;
  key.add(static_cast<int>(nccl.version));
  for (const Algorithm algorithm : nccl.algorithms) key.add(static_cast<int>(algorithm));
  key.add(-1);
  for (const Protocol protocol : nccl.protocols) key.add(static_cast<int>(protocol));
  return key.add(nccl.min_channels)
      .add(nccl.max_channels)
      .add(static_cast<int>(nccl.collnet))
      .add(static_cast<int>(nccl.tuned_sockets))
      .add(static_cast<int>(nccl.pxn))
      .add(nccl.channels_per_net_peer)
      .text();
}

std::string profile_key(const Scenario& scenario, const NodeSpec& node) {
  Key key;
  key.add(node.gpu).add(node.name).add(scenario.training.software);
  for (const std::string& file : scenario.cluster.profiles) key.add(file);
  return key.text();
}

template <class Made, class Make>
Made& remembered(std::map<std::string, std::unique_ptr<Made>>& memo, const std::string& key, Make make) {
  auto& place = memo[key];
  if (!place) place = make();
  return *place;
}

}  // namespace

struct Predictor::Implementation {
  std::map<std::string, std::unique_ptr<Model>> models;
  std::map<std::string, std::shared_ptr<const Cluster>> clusters;
  std::map<std::string, std::unique_ptr<Profile>> profiles;
  std::map<std::string, std::unique_ptr<CostModel>> costs;
  std::map<std::string, std::unique_ptr<CollectiveModel>> collectives;
  const std::atomic<bool>* cancel{};

  const Model& model_of(const Scenario& scenario) {
    return remembered(models, model_key(scenario.model.request), [&] {
      return std::make_unique<Model>(build_model(scenario.model.request, scenario.model.place));
    });
  }

  const Profile& profile_of(const Scenario& scenario, const NodeSpec& node) {
    return remembered(profiles, profile_key(scenario, node), [&] {
      return std::make_unique<Profile>(load_profile(node.gpu, node.name, scenario.training.software,
                                                    scenario.cluster.profiles, scenario.cluster.node_place));
    });
  }

  const CostModel& cost_of(const Scenario& scenario, const NodeSpec& node) {
    return remembered(costs, profile_key(scenario, node), [&] {
      const Profile& profile = profile_of(scenario, node);
      return std::make_unique<CostModel>(profile.gpu, profile.software);
    });
  }

  const CollectiveModel& collectives_of(const Scenario& scenario) {
    const std::string of_cluster = cluster_key(scenario.cluster) + (scenario.nccl.pxn ? "" : "no PXN\n");
    std::string key =
        of_cluster + profile_key(scenario, scenario.cluster.node_spec) + nccl_key(scenario.nccl);
    return remembered(collectives, key, [&] {
      auto& cluster = clusters[of_cluster];
      if (!cluster) cluster = build_cluster(scenario);
      return collective_model(scenario, cluster, [&](const NodeSpec& node) -> const Profile& {
        return profile_of(scenario, node);
      });
    });
  }

  PlanInputs inputs_of(const Scenario& scenario) {
    const NodeSpec& node = scenario.cluster.node_spec;
    PlanInputs inputs{scenario, model_of(scenario), profile_of(scenario, node), cost_of(scenario, node),
                      collectives_of(scenario)};
    const Cluster& cluster = inputs.collectives.cluster();
    if (!scenario.cluster.node_groups.empty() || !scenario.cluster.faults.empty())
      add_kinds(scenario, cluster, inputs);
    return inputs;
  }

  /// Every rank's GPU: its profile and its speed.
  void add_kinds(const Scenario& scenario, const Cluster& cluster, PlanInputs& inputs) {
    inputs.kinds.push_back({&inputs.cost, 1});
    for (int rank = 0; rank < cluster.gpu_count(); ++rank) {
      const NodeSpec& node = cluster.node_spec(rank / cluster.gpus_per_node());
      const GpuKind kind{&cost_of(scenario, node), cluster.gpu_speed(rank)};
      const auto known = std::find_if(inputs.kinds.begin(), inputs.kinds.end(), [&](const GpuKind& other) {
        return other.cost == kind.cost && other.speed == kind.speed;
      });
      inputs.kind_of_rank.push_back(static_cast<int>(known - inputs.kinds.begin()));
      if (known == inputs.kinds.end()) inputs.kinds.push_back(kind);
    }
  }

  /// Node types of the scenario, each once, the cluster's own first.
  [[nodiscard]] static std::vector<const NodeSpec*> node_types(const Scenario& scenario) {
    std::vector<const NodeSpec*> types{&scenario.cluster.node_spec};
    for (const NodeGroup& group : scenario.cluster.node_groups)
      if (group.first < scenario.cluster.nodes) types.push_back(&group.node);
    return types;
  }
};

namespace {

/// Plans and simulates with more micro-batches written out until the last two of them take equally long.
std::pair<StepPlan, Timeline> steady_step(const PlanInputs& inputs, PlanOptions options,
                                          const SimulateOptions& simulation) {
  const int all = inputs.scenario.training.gradient_accumulation_steps;
  const auto plan_once = [&] {
    try {
      return plan_step(inputs, options);
    } catch (const std::invalid_argument& fault) {
      const bool damaged = !inputs.scenario.cluster.faults.empty();
      throw ScenarioError(
          std::vector{Diagnostic{inputs.scenario.cluster.node_place, fault.what(),
                                 damaged ? "the faults of [[cluster.fault]] leave no way" : ""}});
    }
  };
  while (true) {
    StepPlan plan = plan_once();
    Timeline timeline = simulate(plan.program, simulation);
    if (timeline.micro_batches_agree || options.planned_micro_batches >= all) {
      return {std::move(plan), std::move(timeline)};
    }
    options.planned_micro_batches = std::min(all, 2 * options.planned_micro_batches);
  }
}

/// How one micro-batch's kernels divide their time, for the bottleneck.
KernelTimes kernel_times(const PlanInputs& inputs) {
  const TrainingSection& training = inputs.scenario.training;
  const CostOptions options = cost_options(training);  // as planned, so that the costs are known already
  KernelTimes times;
  if (inputs.model.measured) return times;
  std::vector<int> equal(inputs.model.layers.size(), 0);
  for (const Layer& layer : inputs.model.layers) ++equal[static_cast<std::size_t>(layer.first_equal)];
  for (std::size_t i = 0; i < equal.size(); ++i) {
    if (equal[i] == 0) continue;
    const Layer& layer = inputs.model.layers[i];
    for (const Pass pass : {Pass::forward, Pass::backward}) {
      const Work work = inputs.cost.layer_work(layer, pass, training.micro_batch_size, options);
      for (const Kernel& kernel : work.kernels) {
        const double time = equal[i] * kernel.count * kernel.time.value;
        double& place = kernel.launch_bound                  ? times.launch
                        : kernel.kind == KernelClass::memory ? times.memory
                                                             : times.matrix;
        place += time;
      }
    }
  }
  return times;
}

void set_step_times(PointReport& point, const PlanInputs& inputs, const StepPlan& plan,
                    const Timeline& timeline, const SimulateOptions& simulation) {
  point.step_time = to_seconds(timeline.step_time);
  point.step_time_p05 = point.step_time_p50 = point.step_time_p95 = point.step_time;
  const Profile& profile = inputs.profile;
  if (profile.kernel_jitter <= 0 && profile.collective_jitter <= 0) return;
  const Jitter jitter{.compute = profile.kernel_jitter, .collective = profile.collective_jitter};
  const auto drawn = simulate_with_jitter(plan.program, jitter, simulation);
  const auto quantile = [&](double share) {
    return to_seconds(drawn[static_cast<std::size_t>(share * static_cast<double>(drawn.size() - 1) + 0.5)]);
  };
  point.step_time_p05 = quantile(0.05);
  point.step_time_p50 = quantile(0.50);
  point.step_time_p95 = quantile(0.95);
  // The median step has the steady step's shape, a little longer: its parts grow alike.
  const double longer = point.step_time_p50 / point.step_time;
  point.step_time = point.step_time_p50;
  for (Seconds* part :
       {&point.breakdown.compute, &point.breakdown.exposed_communication, &point.breakdown.pipeline_bubble,
        &point.breakdown.optimizer, &point.breakdown.input, &point.breakdown.host}) {
    *part = longer * *part;
  }
  for (CommunicationRow& row : point.communication) {
    row.time = longer * row.time;
    row.exposed = longer * row.exposed;
    row.bus_bandwidth = (1 / longer) * row.bus_bandwidth;
  }
}

void set_throughput(PointReport& point, const PlanInputs& inputs, const StepPlan& plan) {
  point.samples_per_s = static_cast<double>(point.global_batch_size) / point.step_time.value;
  if (inputs.model.sequence_length > 0) {
    point.tokens_per_s = point.samples_per_s * static_cast<double>(inputs.model.sequence_length);
  }
  const GpuProfile& gpu = inputs.profile.gpu;
  std::vector<int> gpus_of_kind(inputs.kinds.size(), 0);
  for (const int kind : inputs.kind_of_rank) ++gpus_of_kind[static_cast<std::size_t>(kind)];
  if (inputs.kinds.empty()) gpus_of_kind.assign(1, point.gpus);
  FlopPerSecond offered;
  for (std::size_t kind = 0; kind < gpus_of_kind.size(); ++kind) {
    const GpuProfile& of_kind = inputs.kinds.empty() ? gpu : inputs.kinds[kind].cost->gpu();
    const auto peak = of_kind.peak.find(effective_dtype(of_kind, inputs.scenario.training.precision));
    if (peak == of_kind.peak.end()) return;
    offered += gpus_of_kind[kind] * peak->second.value;
  }
  if (plan.model_flops <= Flop(0)) return;
  point.mfu = plan.model_flops / offered / point.step_time;
  point.hfu = plan.hardware_flops / offered / point.step_time;
}

}  // namespace

Predictor::Predictor() : Predictor(nullptr) {}
Predictor::Predictor(const std::atomic<bool>* cancel) : implementation_(std::make_unique<Implementation>()) {
  implementation_->cancel = cancel;
}
Predictor::~Predictor() = default;

PointReport Predictor::predict(const Scenario& scenario, bool unfolded) {
  const PlanInputs inputs = implementation_->inputs_of(scenario);
  SimulateOptions simulation;
  simulation.cancel = implementation_->cancel;
  const auto [plan, timeline] = steady_step(inputs, {.unfolded = unfolded}, simulation);
  const StepAnalysis analysis = analyse_step(plan.program, timeline);

  PointReport point;
  point.gpus = scenario.gpus();
  point.nodes = scenario.cluster.nodes;
  point.data_parallel_size = scenario.data_parallel_size();
  point.global_batch_size = scenario.global_batch_size();
  point.micro_batch_size = scenario.training.micro_batch_size;
  point.gradient_accumulation_steps = scenario.training.gradient_accumulation_steps;
  point.strategy = name_of(scenario.training.strategy);
  point.fabric = scenario.cluster.fabric;
  const Cluster& cluster = inputs.collectives.cluster();
  const NetworkUse network = network_use(plan.program, cluster, inputs.profile);
  point.gpus_per_node = scenario.cluster.gpus_per_node;
  point.network = scenario.cluster.fabric_spec;
  point.network.nics_per_node = cluster.nics_per_node();
  point.nics_used = network.nics_per_node;
  point.memory = plan.memory;
  for (const NodeSpec* node : implementation_->node_types(scenario))
    point.memory.capacity = std::min(point.memory.capacity,
                                     implementation_->profile_of(scenario, *node).gpu.memory_capacity.value);
  point.breakdown = analysis.breakdown;
  point.communication = communication_rows(plan.program, timeline, analysis);
  point.links = link_rows(plan.program, timeline, cluster);
  point.bottleneck =
      bottleneck_of(plan.program, timeline, analysis, cluster, [&] { return kernel_times(inputs); });
  set_step_times(point, inputs, plan, timeline, simulation);
  set_throughput(point, inputs, plan);
  point.origins = origins_of(scenario, inputs.model, inputs.profile, network);
  point.dtypes = dtypes_of(scenario.training);
  if (sockets_limit(scenario)) {
    Scenario tuned = scenario;
    tuned.nccl.tuned_sockets = true;
    const PlanInputs tuned_inputs = implementation_->inputs_of(tuned);
    point.tuned_step_time =
        to_seconds(steady_step(tuned_inputs, {.unfolded = unfolded}, simulation).second.step_time);
  }
  point.warnings = warnings_of(scenario, inputs.model, inputs.profile, point);
  if (!timeline.steady) {
    point.warnings.push_back("the step times had not settled after " +
                             std::to_string(timeline.steps_simulated) + " steps; the last one is reported");
  }
  point.efficiency_notes = plan.notes;
  point.events = timeline.events;
  return point;
}

std::pair<StepPlan, Timeline> Predictor::trace(const Scenario& scenario) {
  const PlanInputs inputs = implementation_->inputs_of(scenario);
  SimulateOptions simulation;
  simulation.cancel = implementation_->cancel;
  return steady_step(
      inputs, {.detailed = true, .planned_micro_batches = scenario.training.gradient_accumulation_steps},
      simulation);
}

}  // namespace stepcast
