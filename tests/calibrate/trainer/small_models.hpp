#pragma once

#include <string>

#include "base/document.hpp"
#include "models/build_model.hpp"
#include "models/workload.hpp"
#include "tests/sim/training/setting.hpp"

namespace stepcast {

inline Model model_of_config(const std::string& config) {
  ModelRequest request;
  request.config = parse_toml(config, "model.toml");
  return build_model(request, test_place());
}

/// Odd sizes, so that shards and buckets need padding; tied head.
inline Model small_gpt(const std::string& more = "") {
  return model_of_config(R"(
model_type = "gpt2"
n_layer = 3
n_embd = 20
n_head = 2
n_positions = 7
vocab_size = 31
activation_function = "gelu_new"
attn_pdrop = 0.0
resid_pdrop = 0.0
embd_pdrop = 0.0
)" + more);
}

inline Model small_mlp(const std::string& activation = "gelu") {
  return model_of_config(R"(
model_type = "mlp"
input_size = 13
hidden_size = 22
num_hidden_layers = 3
num_labels = 7
hidden_act = ")" + activation +
                         "\"\n");
}

inline TrainingSection small_training(Strategy strategy, int micro_batch_size, int accumulation = 1) {
  TrainingSection training;
  training.strategy = strategy;
  training.software = "stepcast-trainer";
  training.precision = Dtype::fp32;
  training.micro_batch_size = micro_batch_size;
  training.gradient_accumulation_steps = accumulation;
  set_default_dtypes(training);
  training.gradient_sync = default_gradient_sync(training);
  // Several buckets even of a small model.
  training.first_bucket_size = Bytes(2000);
  training.bucket_size = Bytes(8000);
  return training;
}

}  // namespace stepcast
