#include "models/module_names.hpp"

#include <map>
#include <string>

#include "base/diagnostic.hpp"

namespace stepcast {
namespace {

using enum Role;

FamilyNames llama_like(std::vector<ModuleName> modules) {
  return {"model.embed_tokens", "", "", "", "model.layers.", std::move(modules), "model.norm", "lm_head", ""};
}

/// `up`: the last part of the MLP's first product, which a gate renames.
FamilyNames t5_stack(std::string_view block, bool decoder, std::string_view up_name) {
  std::vector<ModuleName> modules = {{query, "layer.0.SelfAttention.q"},
                                     {key, "layer.0.SelfAttention.k"},
                                     {value, "layer.0.SelfAttention.v"},
                                     {attention_output, "layer.0.SelfAttention.o"},
                                     {relative_bias, "layer.0.SelfAttention.relative_attention_bias"},
                                     {attention_norm, "layer.0.layer_norm"}};
  const bool gated = up_name == "wi_1";
  if (decoder) {
    modules.insert(modules.end(), {{cross_query, "layer.1.EncDecAttention.q"},
                                   {cross_key, "layer.1.EncDecAttention.k"},
                                   {cross_value, "layer.1.EncDecAttention.v"},
                                   {cross_output, "layer.1.EncDecAttention.o"},
                                   {cross_norm, "layer.1.layer_norm"},
                                   {gate, "layer.2.DenseReluDense.wi_0"},
                                   {up, gated ? "layer.2.DenseReluDense.wi_1" : "layer.2.DenseReluDense.wi"},
                                   {down, "layer.2.DenseReluDense.wo"},
                                   {mlp_norm, "layer.2.layer_norm"},
                                   {closing_norm, "final_layer_norm"}});
  } else {
    modules.insert(modules.end(), {{gate, "layer.1.DenseReluDense.wi_0"},
                                   {up, gated ? "layer.1.DenseReluDense.wi_1" : "layer.1.DenseReluDense.wi"},
                                   {down, "layer.1.DenseReluDense.wo"},
                                   {mlp_norm, "layer.1.layer_norm"},
                                   {closing_norm, "final_layer_norm"}});
  }
  return {"shared", "", "", "", block, std::move(modules), "decoder.final_layer_norm", "lm_head", ""};
}

std::map<std::string_view, FamilyNames> make_table() {
  std::map<std::string_view, FamilyNames> table;
  const std::vector<ModuleName> llama = {{query, "self_attn.q_proj"},
                                         {key, "self_attn.k_proj"},
                                         {value, "self_attn.v_proj"},
                                         {attention_output, "self_attn.o_proj"},
                                         {query_norm, "self_attn.q_norm"},
                                         {key_norm, "self_attn.k_norm"},
                                         {gate, "mlp.gate_proj"},
                                         {up, "mlp.up_proj"},
                                         {down, "mlp.down_proj"},
                                         {attention_norm, "input_layernorm"},
                                         {mlp_norm, "post_attention_layernorm"}};
  for (const auto* family : {"llama", "mistral", "qwen2", "qwen3"}) table[family] = llama_like(llama);
  table["mixtral"] = llama_like({{query, "self_attn.q_proj"},
                                 {key, "self_attn.k_proj"},
                                 {value, "self_attn.v_proj"},
                                 {attention_output, "self_attn.o_proj"},
                                 {router, "block_sparse_moe.gate"},
                                 {expert_gate, "block_sparse_moe.experts.|.w1"},
                                 {expert_down, "block_sparse_moe.experts.|.w2"},
                                 {expert_up, "block_sparse_moe.experts.|.w3"},
                                 {attention_norm, "input_layernorm"},
                                 {mlp_norm, "post_attention_layernorm"}});
  table["qwen3_moe"] = llama_like({{query, "self_attn.q_proj"},
                                   {key, "self_attn.k_proj"},
                                   {value, "self_attn.v_proj"},
                                   {attention_output, "self_attn.o_proj"},
                                   {query_norm, "self_attn.q_norm"},
                                   {key_norm, "self_attn.k_norm"},
                                   {router, "mlp.gate"},
                                   {expert_gate, "mlp.experts.|.gate_proj"},
                                   {expert_up, "mlp.experts.|.up_proj"},
                                   {expert_down, "mlp.experts.|.down_proj"},
                                   {gate, "mlp.gate_proj"},
                                   {up, "mlp.up_proj"},
                                   {down, "mlp.down_proj"},
                                   {attention_norm, "input_layernorm"},
                                   {mlp_norm, "post_attention_layernorm"}});
  table["gemma2"] = llama_like({{query, "self_attn.q_proj"},
                                {key, "self_attn.k_proj"},
                                {value, "self_attn.v_proj"},
                                {attention_output, "self_attn.o_proj"},
                                {gate, "mlp.gate_proj"},
                                {up, "mlp.up_proj"},
                                {down, "mlp.down_proj"},
                                {attention_norm, "input_layernorm"},
                                {attention_post_norm, "post_attention_layernorm"},
                                {mlp_norm, "pre_feedforward_layernorm"},
                                {mlp_post_norm, "post_feedforward_layernorm"}});
  table["phi3"] = llama_like({{attention_output, "self_attn.o_proj"},
                              {qkv, "self_attn.qkv_proj"},
                              {gate_up, "mlp.gate_up_proj"},
                              {down, "mlp.down_proj"},
                              {attention_norm, "input_layernorm"},
                              {mlp_norm, "post_attention_layernorm"}});
  table["gpt2"] = {"transformer.wte",
                   "transformer.wpe",
                   "",
                   "",
                   "transformer.h.",
                   {{attention_norm, "ln_1"},
                    {qkv, "attn.c_attn"},
                    {attention_output, "attn.c_proj"},
                    {mlp_norm, "ln_2"},
                    {up, "mlp.c_fc"},
                    {down, "mlp.c_proj"}},
                   "transformer.ln_f",
                   "lm_head",
                   ""};
  table["opt"] = {"model.decoder.embed_tokens",
                  "model.decoder.embed_positions",
                  "",
                  "",
                  "model.decoder.layers.",
                  {{key, "self_attn.k_proj"},
                   {value, "self_attn.v_proj"},
                   {query, "self_attn.q_proj"},
                   {attention_output, "self_attn.out_proj"},
                   {attention_norm, "self_attn_layer_norm"},
                   {up, "fc1"},
                   {down, "fc2"},
                   {mlp_norm, "final_layer_norm"}},
                  "model.decoder.final_layer_norm",
                  "lm_head",
                  ""};
  table["bloom"] = {"transformer.word_embeddings",
                    "",
                    "",
                    "transformer.word_embeddings_layernorm",
                    "transformer.h.",
                    {{attention_norm, "input_layernorm"},
                     {qkv, "self_attention.query_key_value"},
                     {attention_output, "self_attention.dense"},
                     {mlp_norm, "post_attention_layernorm"},
                     {up, "mlp.dense_h_to_4h"},
                     {down, "mlp.dense_4h_to_h"}},
                    "transformer.ln_f",
                    "lm_head",
                    ""};
  table["mpt"] = {"transformer.wte",
                  "transformer.wpe",
                  "",
                  "",
                  "transformer.blocks.",
                  {{attention_norm, "norm_1"},
                   {qkv, "attn.Wqkv"},
                   {attention_output, "attn.out_proj"},
                   {mlp_norm, "norm_2"},
                   {up, "ffn.up_proj"},
                   {down, "ffn.down_proj"}},
                  "transformer.norm_f",
                  "lm_head",
                  ""};
  // With two norms the names are ln_attn and ln_mlp, with one input_layernorm; only the registration order
  // matters here, and a name that holds for the common 7B form.
  table["falcon"] = {"transformer.word_embeddings",
                     "",
                     "",
                     "",
                     "transformer.h.",
                     {{qkv, "self_attention.query_key_value"},
                      {attention_output, "self_attention.dense"},
                      {up, "mlp.dense_h_to_4h"},
                      {down, "mlp.dense_4h_to_h"},
                      {attention_norm, "input_layernorm"},
                      {mlp_norm, "ln_mlp"}},
                     "transformer.ln_f",
                     "lm_head",
                     ""};
  table["bert"] = {"embeddings.word_embeddings",
                   "embeddings.position_embeddings",
                   "embeddings.token_type_embeddings",
                   "embeddings.LayerNorm",
                   "encoder.layer.",
                   {{query, "attention.self.query"},
                    {key, "attention.self.key"},
                    {value, "attention.self.value"},
                    {attention_output, "attention.output.dense"},
                    {attention_norm, "attention.output.LayerNorm"},
                    {up, "intermediate.dense"},
                    {down, "output.dense"},
                    {mlp_norm, "output.LayerNorm"}},
                   "",
                   "cls.predictions",
                   "pooler.dense"};
  table["vit"] = {"conv_proj",
                  "encoder.pos_embedding",
                  "class_token",
                  "",
                  "encoder.layers.encoder_layer_",
                  {{attention_norm, "ln_1"},
                   {qkv, "self_attention.in_proj"},
                   {attention_output, "self_attention.out_proj"},
                   {mlp_norm, "ln_2"},
                   {up, "mlp.0"},
                   {down, "mlp.3"}},
                  "encoder.ln",
                  "heads.head",
                  ""};
  table["t5_encoder"] = t5_stack("encoder.block.", false, "wi");
  table["t5_encoder_gated"] = t5_stack("encoder.block.", false, "wi_1");
  table["t5_decoder"] = t5_stack("decoder.block.", true, "wi");
  table["t5_decoder_gated"] = t5_stack("decoder.block.", true, "wi_1");
  return table;
}

}  // namespace

const FamilyNames& family_names(std::string_view family) {
  static const std::map<std::string_view, FamilyNames> table = make_table();
  const auto found = table.find(family);
  STEPCAST_CHECK(found != table.end(), "no module names for family " + std::string(family));
  return found->second;
}

}  // namespace stepcast
