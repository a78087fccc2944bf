#pragma once

#include "models/architecture.hpp"
#include "models/config_reader.hpp"

/// One reader a family: keys and defaults of its Hugging Face configuration class. Faults are collected by
/// the reader.
namespace stepcast::config {

// RMS norm, rotary positions, gated MLP: config_llama.cpp.
[[nodiscard]] Architecture read_llama(ConfigReader& reader);
[[nodiscard]] Architecture read_mistral(ConfigReader& reader);
[[nodiscard]] Architecture read_mixtral(ConfigReader& reader);
[[nodiscard]] Architecture read_qwen2(ConfigReader& reader);
[[nodiscard]] Architecture read_qwen3(ConfigReader& reader);
[[nodiscard]] Architecture read_qwen3_moe(ConfigReader& reader);
[[nodiscard]] Architecture read_gemma2(ConfigReader& reader);
[[nodiscard]] Architecture read_phi3(ConfigReader& reader);

// Layer norm, plain MLP: config_gpt.cpp.
[[nodiscard]] Architecture read_gpt2(ConfigReader& reader);
[[nodiscard]] Architecture read_opt(ConfigReader& reader);
[[nodiscard]] Architecture read_bloom(ConfigReader& reader);
[[nodiscard]] Architecture read_mpt(ConfigReader& reader);
[[nodiscard]] Architecture read_falcon(ConfigReader& reader);
[[nodiscard]] Architecture read_bert(ConfigReader& reader);

// Others: config_others.cpp.
[[nodiscard]] Architecture read_t5(ConfigReader& reader);
[[nodiscard]] Architecture read_vit(ConfigReader& reader);
[[nodiscard]] Architecture read_resnet(ConfigReader& reader);
[[nodiscard]] Architecture read_mlp(ConfigReader& reader);

/// head_dim = hidden / heads where it is not given; faults where a division has a rest.
void finish_heads(ConfigReader& reader, TransformerArchitecture& shape, ConfigReader::Keys hidden_keys,
                  ConfigReader::Keys heads_keys, ConfigReader::Keys key_value_keys);
/// The activation's kind by its name in config.json ("silu", "gelu_new", "relu", ...).
[[nodiscard]] Activation read_activation(ConfigReader& reader, ConfigReader::Keys keys, Activation absent);

}  // namespace stepcast::config
