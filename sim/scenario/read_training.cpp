#include <cmath>

#include "sim/scenario/defaults.hpp"
#include "sim/scenario/keys.hpp"
#include "sim/scenario/read_sections.hpp"

namespace stepcast::detail {
namespace {

const std::vector<std::string> strategies = {"ddp", "zero1", "zero2", "zero3", "fsdp", "hsdp"};
const std::vector<std::string> frameworks = {"pytorch-eager", "pytorch-compiled", "deepspeed",
                                             "megatron-core", "stepcast-trainer"};
const std::vector<std::string> later_frameworks = {"composer", "tensorflow-xla", "mxnet-horovod", "nemo",
                                                   "transformer-engine"};
const std::vector<std::string> precisions = {"bf16", "fp16", "fp32", "tf32", "fp8"};
const std::vector<std::string> storage_types = {"bf16", "fp16", "fp32"};

Dtype dtype_of(const std::string& name) {
  for (const Dtype type : {Dtype::bf16, Dtype::fp16, Dtype::tf32, Dtype::fp8}) {
    if (name_of(type) == name) return type;
  }
  return Dtype::fp32;
}

Strategy strategy_of(const std::string& name) {
  for (std::size_t i = 0; i < strategies.size(); ++i) {
    if (strategies[i] == name) return static_cast<Strategy>(i);
  }
  return Strategy::ddp;
}

void read_software(TableReader& reader, TrainingSection& training) {
  const Value* given = reader.raw("software");
  training.software = default_software(training.strategy);
  if (given == nullptr) return;
  if (given->kind == Value::Kind::string) {
    for (const std::string& later : later_frameworks) {
      if (given->string == later) {
        reader.fault("software", "training.software \"" + later + "\" is known, not built yet");
        return;
      }
    }
  }
  if (const auto software = reader.choice("software", frameworks)) training.software = *software;
}

/// micro_batch_size, and gradient_accumulation_steps or global_batch_size.
void read_batch(TableReader& reader, ReadResult& result) {
  TrainingSection& training = result.scenario.training;
  training.micro_batch_size = static_cast<int>(reader.integer("micro_batch_size", 1, 1'000'000).value_or(1));
  const auto accumulation = reader.integer("gradient_accumulation_steps", 1, 1'000'000);
  const auto global = reader.integer("global_batch_size", 1, 1'000'000'000);
  if (accumulation) training.gradient_accumulation_steps = static_cast<int>(*accumulation);
  if (!global || result.scenario.cluster.gpus_per_node == 0) return;
  const std::int64_t at_once =
      static_cast<std::int64_t>(training.micro_batch_size) * result.scenario.data_parallel_size();
  const SourcePlace& place = reader.raw("global_batch_size")->place;
  const std::string arithmetic = std::to_string(training.micro_batch_size) + " per GPU x " +
                                 std::to_string(result.scenario.data_parallel_size()) +
                                 " GPUs = " + std::to_string(at_once);
  if (*global % at_once != 0) {
    result.impossible.push_back(
        {place,
         "training.global_batch_size " + std::to_string(*global) + " is not divisible by " + arithmetic,
         "nearest: " + std::to_string(std::max<std::int64_t>(1, *global / at_once) * at_once)});
    return;
  }
  const std::int64_t steps = *global / at_once;
  if (accumulation && *accumulation != steps) {
    result.impossible.push_back(
        {place,
         "training.global_batch_size " + std::to_string(*global) +
             " contradicts gradient_accumulation_steps " + std::to_string(*accumulation) + ": " + arithmetic +
             ", x " + std::to_string(*accumulation) + " = " + std::to_string(at_once * *accumulation),
         "give one of the two, the other follows"});
    return;
  }
  training.gradient_accumulation_steps = static_cast<int>(steps);
  training.global_batch_given = true;
}

void read_dtypes(TableReader& reader, TrainingSection& training) {
  set_default_dtypes(training);
  const auto storage = [&](std::string_view key, Dtype& type) {
    if (const auto name = reader.choice(key, storage_types)) type = dtype_of(*name);
  };
  storage("parameter_dtype", training.parameter_dtype);
  storage("gradient_dtype", training.gradient_dtype);
  storage("reduce_dtype", training.reduce_dtype);
  storage("optimizer_dtype", training.optimizer_dtype);
}

void read_frameworks_keys(TableReader& reader, TrainingSection& training) {
  if (const auto size = reader.bytes("bucket_size")) training.bucket_size = *size;
  if (const auto size = reader.bytes("first_bucket_size")) training.first_bucket_size = *size;
  const auto flag = [&](std::string_view key, bool& value) { value = reader.boolean(key).value_or(value); };
  flag("gradient_as_bucket_view", training.gradient_as_bucket_view);
  flag("broadcast_buffers", training.broadcast_buffers);
  flag("find_unused_parameters", training.find_unused_parameters);
  flag("static_graph", training.static_graph);
  training.reduce_scatter_max_input_buffers =
      static_cast<int>(reader.integer("reduce_scatter_max_input_buffers", 1, 1000).value_or(1));
  training.reshard_after_forward = reader.boolean("reshard_after_forward");
  const bool fsdp1 = reader.integer("fsdp_version", 1, 2).value_or(2) == 1;
  if (fsdp1 && key_is_used("fsdp_version", training.strategy, training.software)) {
    reader.fault("fsdp_version", "training.fsdp_version 1 (FSDP1) is known, not built yet",
                 "use fsdp_version = 2");
  }
  const auto elements = [&](std::string_view key, double& value) {
    value = reader.elements(key).value_or(value);
  };
  elements("reduce_bucket_size", training.reduce_bucket_size);
  elements("allgather_bucket_size", training.allgather_bucket_size);
  elements("sub_group_size", training.sub_group_size);
  elements("stage3_prefetch_bucket_size", training.stage3_prefetch_bucket_size);
  elements("stage3_param_persistence_threshold", training.stage3_param_persistence_threshold);
  elements("stage3_max_live_parameters", training.stage3_max_live_parameters);
  elements("stage3_max_reuse_distance", training.stage3_max_reuse_distance);
  if (!(training.reduce_bucket_size >= 1)) {
    reader.fault("reduce_bucket_size", "training.reduce_bucket_size must be at least one element");
  }
  if (!(training.bucket_size.value >= 1)) reader.fault("bucket_size", "training.bucket_size must be above 0");
  training.overlap_comm = reader.boolean("overlap_comm");
  flag("overlap_grad_reduce", training.overlap_grad_reduce);
  flag("overlap_param_gather", training.overlap_param_gather);
  training.ddp_bucket_elements = reader.elements("ddp_bucket_size");
}

void check_combination(const Value& table, TableReader& reader, ReadResult& result) {
  const TrainingSection& training = result.scenario.training;
  const auto place = [&](std::string_view key) {
    const Value* value = table.find(key);
    return value != nullptr ? value->place : table.place;
  };
  const std::string unsupported = unsupported_pair(training.strategy, training.software);
  if (!unsupported.empty()) {
    const std::size_t colon = unsupported.find(": ");
    result.impossible.push_back(
        {place("strategy"), unsupported.substr(0, colon), unsupported.substr(colon + 2)});
  } else {
    if (training.software == "deepspeed" && training.gradient_sync == GradientSync::last &&
        (training.strategy == Strategy::zero2 || training.strategy == Strategy::zero3)) {
      result.impossible.push_back({place("gradient_sync"),
                                   "training.gradient_sync \"last\" contradicts " +
                                       std::string(name_of(training.strategy)) +
                                       " under deepspeed: its engine reduces in every micro-batch",
                                   "leave gradient_sync out, or use zero1"});
    }
    if (training.overlap_param_gather && !training.overlap_grad_reduce &&
        training.software == "megatron-core") {
      result.impossible.push_back({place("overlap_param_gather"),
                                   "training.overlap_param_gather needs overlap_grad_reduce",
                                   "set overlap_grad_reduce = true as well"});
    }
    for (const SpecialKey& special : special_keys()) {
      if (reader.has(special.key) && !special.used(training.strategy, training.software)) {
        result.scenario.notes.push_back("training." + std::string(special.key) + " is not used by " +
                                        std::string(name_of(training.strategy)) + " under " +
                                        training.software);
      }
    }
  }
  const double samples = static_cast<double>(training.micro_batch_size) *
                         training.gradient_accumulation_steps * result.scenario.data_parallel_size();
  if (samples > 1e15) {
    result.impossible.push_back(
        {place("gradient_accumulation_steps"),
         "a step of more than 1e15 samples: micro_batch_size x gradient_accumulation_steps x GPUs",
         "check these three"});
  }
  const int gpus = result.scenario.gpus();
  if (training.strategy == Strategy::hsdp && gpus > 0 &&
      (training.shard_degree > gpus || gpus % training.shard_degree != 0)) {
    result.impossible.push_back({place("shard_degree"),
                                 "training.shard_degree " + std::to_string(training.shard_degree) +
                                     " does not divide the " + std::to_string(gpus) + " data-parallel GPUs",
                                 "for example the GPUs of one node"});
  }
}

}  // namespace

void read_training(const Value& table, ReadResult& result) {
  TableReader reader(table, "training", result.faults);
  TrainingSection& training = result.scenario.training;
  reader.require("strategy", "one of ddp, zero1, zero2, zero3, fsdp, hsdp");
  if (const auto strategy = reader.choice("strategy", strategies)) training.strategy = strategy_of(*strategy);
  read_software(reader, training);
  for (const std::string_view key :
       {"tensor_parallel", "pipeline_parallel", "context_parallel", "expert_parallel", "virtual_stages"}) {
    if (reader.integer(key, 1, 1'000'000).value_or(1) > 1) {
      reader.fault(key, "training." + std::string(key) + " above 1 is known, not built yet");
    }
  }
  read_batch(reader, result);
  training.precision = dtype_of(reader.choice("precision", precisions).value_or("bf16"));
  read_dtypes(reader, training);
  const std::string optimizer =
      reader.choice("optimizer", {"adamw", "adam", "sgd", "lamb"}).value_or("adamw");
  training.optimizer = optimizer == "sgd"    ? OptimizerKind::sgd
                       : optimizer == "adam" ? OptimizerKind::adam
                       : optimizer == "lamb" ? OptimizerKind::lamb
                                             : OptimizerKind::adamw;
  const std::string checkpointing =
      reader.choice("activation_checkpointing", {"none", "selective", "full"}).value_or("none");
  training.activation_checkpointing = checkpointing == "full"        ? Checkpointing::full
                                      : checkpointing == "selective" ? Checkpointing::selective
                                                                     : Checkpointing::none;
  const auto sync = reader.choice("gradient_sync", {"last", "every"});
  training.gradient_sync =
      sync ? (*sync == "last" ? GradientSync::last : GradientSync::every) : default_gradient_sync(training);
  training.shard_degree = static_cast<int>(
      reader.integer("shard_degree", 1, 1'000'000).value_or(result.scenario.cluster.gpus_per_node));
  read_frameworks_keys(reader, training);
  check_combination(table, reader, result);
  reader.finish();
}

}  // namespace stepcast::detail
