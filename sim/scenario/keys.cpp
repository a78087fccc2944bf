#include "sim/scenario/keys.hpp"

namespace stepcast {
namespace {

bool is_pytorch(const std::string& software) { return software.starts_with("pytorch"); }

bool shards_parameters(Strategy strategy) {
  return strategy == Strategy::zero3 || strategy == Strategy::fsdp || strategy == Strategy::hsdp;
}

/// Torch's reducer, and our trainer that follows it.
bool reducer(Strategy strategy, const std::string& software) {
  if (software == "stepcast-trainer") return !shards_parameters(strategy);
  return is_pytorch(software) && (strategy == Strategy::ddp || strategy == Strategy::zero1);
}
bool bucket_views(Strategy strategy, const std::string& software) {
  return reducer(strategy, software) && (is_pytorch(software) || strategy == Strategy::ddp);
}
bool torch_reducer(Strategy strategy, const std::string& software) {
  return is_pytorch(software) && reducer(strategy, software);
}
bool hybrid(Strategy strategy, const std::string&) { return strategy == Strategy::hsdp; }
bool fsdp2(Strategy strategy, const std::string& software) {
  return is_pytorch(software) && (strategy == Strategy::fsdp || strategy == Strategy::hsdp);
}
bool sharded_units(Strategy strategy, const std::string& software) {
  return fsdp2(strategy, software) || (software == "stepcast-trainer" && shards_parameters(strategy));
}
bool deepspeed(Strategy, const std::string& software) { return software == "deepspeed"; }
bool deepspeed12(Strategy strategy, const std::string& software) {
  return software == "deepspeed" && (strategy == Strategy::zero1 || strategy == Strategy::zero2);
}
bool deepspeed123(Strategy strategy, const std::string& software) {
  return software == "deepspeed" && strategy != Strategy::ddp;
}
bool deepspeed3(Strategy strategy, const std::string& software) {
  return software == "deepspeed" && strategy == Strategy::zero3;
}
bool megatron(Strategy, const std::string& software) { return software == "megatron-core"; }

}  // namespace

const std::vector<SpecialKey>& special_keys() {
  static const std::vector<SpecialKey> keys = {
      {"shard_degree", "GPUs", "GPUs used per node", "size of a shard group", hybrid},
      {"bucket_size", "size", "25 MiB",
       "gradient bucket limit; a bucket overshoots it by up to one parameter", reducer},
      {"first_bucket_size", "size", "1 MiB", "limit of the first bucket (the last layers)", reducer},
      {"gradient_as_bucket_view", "true/false", "false", "no copy back out of the buckets", bucket_views},
      {"broadcast_buffers", "true/false", "true", "rank 0's BatchNorm buffers go to all at each forward",
       torch_reducer},
      {"find_unused_parameters", "true/false", "false", "adds a graph walk and an all-reduce of a map",
       torch_reducer},
      {"static_graph", "true/false", "false", "as torch's flag; no effect on the steady state",
       torch_reducer},
      {"reduce_scatter_max_input_buffers", "buffers", "1", "reduce-scatter inputs kept before compute stalls",
       sharded_units},
      {"reshard_after_forward", "true/false", "true, root unit false", "free gathered blocks after forward",
       sharded_units},
      {"fsdp_version", "1 or 2", "2", "FSDP1 is not built yet", fsdp2},
      {"reduce_bucket_size", "elements", "500 Melements", "as DeepSpeed's key", deepspeed},
      {"allgather_bucket_size", "elements", "500 Melements",
       "as DeepSpeed's key, which modern versions ignore (one all-gather)", deepspeed12},
      {"overlap_comm", "true/false", "true for stage 3, else false", "as DeepSpeed's key", deepspeed123},
      {"sub_group_size", "elements", "1 Gelements", "as DeepSpeed's key", deepspeed3},
      {"stage3_prefetch_bucket_size", "elements", "50 Melements", "as DeepSpeed's key", deepspeed3},
      {"stage3_param_persistence_threshold", "elements", "100 kelements", "as DeepSpeed's key", deepspeed3},
      {"stage3_max_live_parameters", "elements", "1 Gelements", "as DeepSpeed's key", deepspeed3},
      {"stage3_max_reuse_distance", "elements", "1 Gelements", "as DeepSpeed's key", deepspeed3},
      {"overlap_grad_reduce", "true/false", "false", "as Megatron's flag", megatron},
      {"overlap_param_gather", "true/false", "false", "as Megatron's flag; needs overlap_grad_reduce",
       megatron},
      {"ddp_bucket_size", "elements", "max(40 M, 1 M x data-parallel size)", "as Megatron's flag", megatron},
  };
  return keys;
}

bool key_is_used(std::string_view key, Strategy strategy, const std::string& software) {
  constexpr std::string_view section = "training.";
  if (key.starts_with(section)) key.remove_prefix(section.size());
  for (const SpecialKey& special : special_keys()) {
    if (special.key == key) return special.used(strategy, software);
  }
  return true;
}

}  // namespace stepcast
