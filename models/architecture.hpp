#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace stepcast {

enum class NormKind { layer_norm, rms_norm };
/// before: x + f(norm(x)); after: norm(x + f(x)) (BERT); around: x + norm(f(norm(x))) (Gemma 2).
enum class NormPlacement { before, after, around };
enum class Activation { gelu, relu, silu };
/// relative: T5's learned bias on the scores, by distance; a table in the first block of each stack.
enum class Positions { learned, rotary, alibi, relative };

/// Hyper-parameters of one transformer, as plain numbers: what a config.json says, without its spellings.
/// `family` selects names and registration order of the modules only (module_names.hpp); every size comes
/// from here.
struct TransformerArchitecture {
  std::string family;
  std::int64_t layers{}, hidden{}, heads{}, key_value_heads{}, head_dim{}, feed_forward{}, vocabulary{};
  std::int64_t max_positions{};  ///< rows of a learned position table, and the default sequence length

  NormKind norm{NormKind::layer_norm};
  NormPlacement norm_placement{NormPlacement::before};
  bool norm_bias{true};
  bool unit_offset_norm{};  ///< Gemma's (1 + weight), multiplied in fp32
  bool final_norm{true};
  bool embedding_norm{};

  bool fused_qkv{};
  bool fused_gate_up{};
  bool qkv_bias{}, attention_output_bias{}, mlp_bias{};
  bool qk_norm{};  ///< RMS norm of every query and key head
  bool gated{};
  Activation activation{Activation::gelu};
  bool parallel_attention{};     ///< attention and MLP both read the normed input, Falcon
  bool separate_mlp_norm{true};  ///< parallel attention: false when both read the same norm
  bool transposed_weights{};     ///< [in, out] as GPT-2's Conv1D stores them

  Positions positions{Positions::rotary};
  std::int64_t position_offset{};    ///< unused rows at the start of the table: 2 in OPT
  bool positions_follow_sequence{};  ///< the table is made as long as the sequence asked for
  std::int64_t token_types{};
  bool scaled_embedding{};  ///< Gemma multiplies embeddings by sqrt(hidden)
  bool tied_embeddings{};

  double attention_dropout{}, hidden_dropout{}, embedding_dropout{};
  double inner_dropout{};  ///< behind the MLP's activation, T5
  bool causal{true};
  std::int64_t window{};       ///< keys that a query sees in windowed layers; 0 = all
  std::vector<bool> windowed;  ///< per layer; empty: all, where window > 0
  bool logits_softcap{};

  std::int64_t experts{}, experts_per_token{}, expert_feed_forward{};
  std::vector<bool> sparse;  ///< per layer: experts instead of a dense MLP; empty: all, where experts > 0

  bool pooler{};                ///< BERT: tanh(W x) of the first token
  bool masked_language_head{};  ///< BERT pretraining: transform, decoder and loss on masked tokens
  double predicted_share{1};    ///< tokens of a sequence that get logits

  [[nodiscard]] bool is_sparse(std::int64_t layer) const {
    return experts > 0 && (sparse.empty() || sparse[static_cast<std::size_t>(layer)]);
  }
  [[nodiscard]] std::int64_t window_of(std::int64_t layer) const {
    return windowed.empty() || windowed[static_cast<std::size_t>(layer)] ? window : 0;
  }
};

/// ResNet with bottleneck blocks, stride on the 3x3 convolution (v1.5, as torchvision builds it).
struct ResnetArchitecture {
  std::vector<std::int64_t> depths;  ///< blocks per stage
  std::int64_t image_size{224}, classes{1000};
};

/// Vision transformer as an encoder of patches: `encoder` holds the blocks' sizes (not causal, norms before);
/// patches by a convolution, a class token, learned positions, a classifier on the class token.
struct VisionTransformerArchitecture {
  TransformerArchitecture encoder;
  std::int64_t patch_size{16}, image_size{224}, classes{1000};
};

/// T5: `stack` holds the sizes that encoder and decoder share; decoder blocks have a cross attention too.
struct EncoderDecoderArchitecture {
  TransformerArchitecture stack;  ///< `layers`: of the encoder
  std::int64_t decoder_layers{};
  std::int64_t relative_buckets{32};
  /// Target tokens per input token: span corruption turns 512 input tokens into 114 target tokens, and
  /// Megatron-LM's pretrain_t5 uses 512 and 128. Source: Raffel et al., arXiv 1910.10683, section 3.1.4;
  /// Megatron-LM examples.
  double target_share{0.25};
};

/// A multi-layer perceptron: `layers` products of `hidden` features with bias and activation, and a
/// classifier.
struct MlpArchitecture {
  std::int64_t inputs{}, hidden{}, layers{}, classes{};
  Activation activation{Activation::gelu};
};

using Architecture = std::variant<TransformerArchitecture, EncoderDecoderArchitecture,
                                  VisionTransformerArchitecture, ResnetArchitecture, MlpArchitecture>;

}  // namespace stepcast
