#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic.hpp"
#include "base/document.hpp"
#include "base/units.hpp"
#include "models/build_model.hpp"
#include "sim/collective/nccl_options.hpp"
#include "topology/cluster.hpp"

namespace stepcast {

enum class Strategy { ddp, zero1, zero2, zero3, fsdp, hsdp };
enum class Checkpointing { none, selective, full };
enum class GradientSync { last, every };
enum class OptimizerKind { adamw, adam, sgd, lamb };

[[nodiscard]] std::string_view name_of(Strategy strategy);
[[nodiscard]] std::string_view name_of(Checkpointing checkpointing);
[[nodiscard]] std::string_view name_of(OptimizerKind optimizer);
[[nodiscard]] std::string_view name_of(Dtype type);

struct ModelSection {
  ModelRequest request;
  SourcePlace place;     ///< of preset, huggingface or workload
  bool scale_compute{};  ///< workload: micro_batch_size may differ from the measured one
};

struct ClusterSection {
  SourcePlace node_place;  ///< of `node`, for faults of its GPU's profile
  int nodes{1};
  std::string node;     ///< preset or resolved path
  int gpus_per_node{};  ///< 0: all
  std::string fabric;
  std::optional<BytesPerSecond> link_rate;
  std::optional<Seconds> link_latency;
  std::optional<int> nics_per_node;
  std::string topology{"single-switch"};
  double oversubscription{1.0}, core_oversubscription{1.0};
  int dragonfly_group{}, dragonfly_links{};  ///< 0: as docs/topology.md says
  std::vector<int> torus;
  BytesPerSecond torus_link_rate;  ///< 0: all cards of a node together
  std::string routing{"spray"};
  std::uint64_t routing_seed{1};
  std::vector<std::string> profiles;   ///< resolved paths, later ones override
  NodeSpec node_spec;                  ///< loaded
  FabricSpec fabric_spec;              ///< loaded, overrides applied
  std::vector<NodeGroup> node_groups;  ///< [[cluster.node_group]]: they take the last nodes, in their order
  std::vector<LinkFault> faults;       ///< [[cluster.fault]]
  std::vector<BackgroundLoad> background;  ///< [[background]]
};

/// What the section asks of a cluster's builder.
[[nodiscard]] ClusterRequest request_of(const ClusterSection& cluster);

/// Every key of [training] with its default filled in (design 6.2; docs/scenario.md lists them by strategy).
struct TrainingSection {
  Strategy strategy{Strategy::ddp};
  std::string software;  ///< pytorch-eager pytorch-compiled deepspeed megatron-core stepcast-trainer
  int shard_degree{};    ///< hsdp; the GPUs used per node by default
  int micro_batch_size{1};
  int gradient_accumulation_steps{1};
  bool global_batch_given{};  ///< global_batch_size was given; gradient_accumulation_steps follows
  GradientSync gradient_sync{GradientSync::last};
  Dtype precision{Dtype::bf16};
  Dtype parameter_dtype{};  ///< what the forward reads and all-gathers carry
  Dtype gradient_dtype{};   ///< accumulation
  Dtype reduce_dtype{};     ///< wire
  Dtype optimizer_dtype{};  ///< moments and, where the strategy keeps one, the master copy
  bool master_copy{};       ///< fp32 master beside 16-bit parameters (deepspeed, megatron)
  OptimizerKind optimizer{OptimizerKind::adamw};
  Checkpointing activation_checkpointing{Checkpointing::none};
  // Torch DDP, stepcast-trainer.
  Bytes bucket_size{25.0 * 1024 * 1024};
  Bytes first_bucket_size{1024.0 * 1024};
  bool gradient_as_bucket_view{};
  bool broadcast_buffers{true};
  bool find_unused_parameters{};
  bool static_graph{};
  // FSDP2.
  int reduce_scatter_max_input_buffers{1};
  std::optional<bool> reshard_after_forward;  ///< default: true for blocks, false for the root unit
  // DeepSpeed, in its own names and counts (elements).
  double reduce_bucket_size{5e8};
  double allgather_bucket_size{5e8};
  std::optional<bool> overlap_comm;  ///< default: true for stage 3 only
  double sub_group_size{1e9};
  double stage3_prefetch_bucket_size{5e7};
  double stage3_param_persistence_threshold{1e5};
  double stage3_max_live_parameters{1e9};
  double stage3_max_reuse_distance{1e9};
  // Megatron-Core.
  bool overlap_grad_reduce{}, overlap_param_gather{};
  std::optional<double> ddp_bucket_elements;  ///< default max(40e6, 1e6 x data-parallel size)
};

struct InputSection {
  std::optional<double> samples_per_second_per_node;
};

/// One fully specified question.
struct Scenario {
  std::string title;
  ModelSection model;
  ClusterSection cluster;
  TrainingSection training;
  InputSection input;
  NcclOptions nccl;
  std::vector<std::string> notes;  ///< keys that the strategy does not use, interpolated fabrics, ...

  [[nodiscard]] int gpus() const { return cluster.nodes * cluster.gpus_per_node; }
  [[nodiscard]] int data_parallel_size() const { return gpus(); }  ///< no model parallelism yet
  [[nodiscard]] std::int64_t global_batch_size() const {
    return std::int64_t{training.micro_batch_size} * training.gradient_accumulation_steps *
           data_parallel_size();
  }
};

/// `--set key=value`. On a swept key a value (or list) replaces the sweep.
struct Override {
  std::string key, text;
};

/// A scenario file, parsed, with its sweep; not yet a single question.
struct ScenarioFile {
  std::string file;  ///< as it was given
  Value document;    ///< overrides applied, [what_if] taken out
  struct Swept {
    std::string key;
    std::vector<Value> values;
    SourcePlace place;  ///< of the list
  };
  std::vector<Swept> swept;           ///< in order of the file, overrides that are lists after it
  std::vector<std::string> profiles;  ///< of the command line: they come after the scenario's own
  std::vector<std::string> set_keys;  ///< keys given by --set that are not swept

  /// Points of the cross product, possible or not; 1 without a sweep.
  [[nodiscard]] std::size_t point_count() const;
};

/// The only reader of scenario files. Throws ScenarioError with all faults that do not depend on the point.
[[nodiscard]] ScenarioFile load_scenario(const std::string& file, const std::vector<Override>& overrides,
                                         const std::vector<std::string>& profiles = {});

/// One point of the cross product, in order, last key fastest.
struct ScenarioPoint {
  std::vector<std::pair<std::string, Value>> settings;  ///< every swept key and every --set key
  std::optional<Scenario> scenario;
  std::string invalid;  ///< why the point cannot exist (indivisible batch), when there is no scenario
  std::optional<Diagnostic> fault;  ///< the same with its place
};

/// All points. Throws ScenarioError when a value is faulty by itself (unknown preset, wrong type); a
/// combination that cannot exist makes that point invalid, or is thrown when nothing is swept.
[[nodiscard]] std::vector<ScenarioPoint> expand(const ScenarioFile& file);

/// The cluster that a file asks about, for questions without a training job: only [cluster], [nccl] and
/// [[background]] are read, and only sweeps over their keys count.
/// @throws ScenarioError: their faults; a key of theirs that is swept over several values
[[nodiscard]] Scenario cluster_of(const ScenarioFile& file);

/// The same question asked of another number of nodes (for baselines): at the same batch per GPU, or at the
/// same global batch where the scenario gives one. Nothing when it can't exist there (indivisible batch, or a
/// shard degree that does not divide the GPUs).
[[nodiscard]] std::optional<Scenario> with_nodes(const Scenario& scenario, int nodes);

}  // namespace stepcast
