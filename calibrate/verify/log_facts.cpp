#include <cmath>

#include "calibrate/verify/log_reader.hpp"

namespace stepcast {
namespace {

struct FactKey {
  std::string_view key;
  std::optional<int> LogFacts::*fact;
};

/// Argument lists of Megatron ("seq_length ..... 2048") and DeepSpeed, lines of Hugging Face and torchtitan,
/// options of command lines.
constexpr FactKey fact_keys[] = {
    {"using world size", &LogFacts::world_size},
    {"dist_world_size", &LogFacts::world_size},
    {"data_parallel_size", &LogFacts::data_parallel_size},
    {"data-parallel-size", &LogFacts::data_parallel_size},
    {"tensor_model_parallel_size", &LogFacts::tensor_parallel},
    {"tensor-model-parallel size", &LogFacts::tensor_parallel},
    {"tensor-model-parallel-size", &LogFacts::tensor_parallel},
    {"model_parallel_size", &LogFacts::tensor_parallel},
    {"model-parallel size", &LogFacts::tensor_parallel},
    {"pipeline_model_parallel_size", &LogFacts::pipeline_parallel},
    {"pipeline-model-parallel size", &LogFacts::pipeline_parallel},
    {"pipeline-model-parallel-size", &LogFacts::pipeline_parallel},
    {"micro_batch_size", &LogFacts::micro_batch_size},
    {"micro-batch-size", &LogFacts::micro_batch_size},
    {"train_micro_batch_size_per_gpu", &LogFacts::micro_batch_size},
    {"per_device_train_batch_size", &LogFacts::micro_batch_size},
    {"Instantaneous batch size per device", &LogFacts::micro_batch_size},
    {"local batch size", &LogFacts::micro_batch_size},
    {"global_batch_size", &LogFacts::global_batch_size},
    {"global-batch-size", &LogFacts::global_batch_size},
    {"global batch size", &LogFacts::global_batch_size},
    {"train_batch_size", &LogFacts::global_batch_size},
    {"Total train batch size (w. parallel, distributed & accumulation)", &LogFacts::global_batch_size},
    {"gradient_accumulation_steps", &LogFacts::gradient_accumulation_steps},
    {"Gradient Accumulation steps", &LogFacts::gradient_accumulation_steps},
    {"gradient accumulation steps", &LogFacts::gradient_accumulation_steps},
    {"seq_length", &LogFacts::sequence_length},
    {"seq-length", &LogFacts::sequence_length},
    {"max_seq_len", &LogFacts::sequence_length},
    {"sequence length", &LogFacts::sequence_length},
    {"zero_optimization_stage", &LogFacts::zero_stage},
    {"zero_stage", &LogFacts::zero_stage},
    {"zero-stage", &LogFacts::zero_stage},
};

}  // namespace

std::optional<int> LogFacts::devices() const {
  if (world_size) return world_size;
  if (!data_parallel_size) return std::nullopt;
  return *data_parallel_size * tensor_parallel.value_or(1) * pipeline_parallel.value_or(1);
}

std::optional<double> LogFacts::samples_per_step() const {
  if (global_batch_size) return *global_batch_size;
  if (!micro_batch_size || !data_parallel_size) return std::nullopt;
  return static_cast<double>(*micro_batch_size) * gradient_accumulation_steps.value_or(1) *
         *data_parallel_size;
}

void read_facts(std::string_view text, LogFacts& facts) {
  constexpr double most = 1e9;
  const auto set = [&](std::optional<int> LogFacts::*fact, std::string_view key) {
    const auto value = number_after(text, key);
    if (value && *value >= 0 && *value < most && *value == std::floor(*value))
      facts.*fact = static_cast<int>(*value);
  };
  // DeepSpeed's configuration counts model-parallel ranks as one.
  const bool of_deepspeed = text.find("config.py") != std::string_view::npos;
  set(of_deepspeed ? &LogFacts::data_parallel_size : &LogFacts::world_size, "world_size");
  for (const FactKey& known : fact_keys)
    if (text.find(known.key) != std::string_view::npos) set(known.fact, known.key);
}

}  // namespace stepcast
