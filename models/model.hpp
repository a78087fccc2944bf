#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"

namespace stepcast {

/// What one kernel chain moves to and from device memory for one sample, reads and writes added up.
struct Traffic {
  double elements{};       ///< elements of the compute type (2 bytes in bf16)
  double fp32_elements{};  ///< elements that are fp32 whatever the compute type (statistics, fp32 logits)
  double bytes{};          ///< of fixed size: masks (1 byte), token ids (8 bytes)
  int kernels{};  ///< launches; 0: nothing runs (or, in a fused chain, another operator's kernel does it)
  /// Elements of the compute type moved once a micro-batch, however many samples it has: the zero fill of an
  /// embedding's whole gradient.
  double micro_batch_elements{};
  friend bool operator==(const Traffic&, const Traffic&) = default;
};

/// A memory-bound operator, as an eager framework runs it (one kernel an operation) and as a fusing one does.
struct MemoryWork {
  Traffic eager_forward, eager_backward;
  Traffic fused_forward, fused_backward;
  friend bool operator==(const MemoryWork&, const MemoryWork&) = default;
};

/// (rows x depth) (depth x columns), `groups` times; 2 rows depth columns groups FLOPs forward.
/// Backward is two products of the same FLOPs: input gradient (unless !input_gradient), weight gradient
/// (if has_weight; otherwise the second operand's gradient).
struct GemmWork {
  double rows{};  ///< per sample; the micro-batch multiplies it (of one group: routed tokens / experts)
  std::int64_t columns{};  ///< output features
  std::int64_t depth{};    ///< input features
  std::int64_t groups{1};  ///< experts of a grouped product
  bool has_weight{true};
  bool input_gradient{true};
  friend bool operator==(const GemmWork&, const GemmWork&) = default;
};

/// Implicit GEMM: rows = out_height * out_width per sample, columns = out_channels / groups,
/// depth = in_channels / groups * kernel^2.
struct ConvolutionWork {
  std::int64_t in_channels{}, out_channels{}, kernel{1}, stride{1}, groups{1};
  std::int64_t in_height{}, in_width{}, out_height{}, out_width{};
  bool input_gradient{true};  ///< false for the first layer of a network
  friend bool operator==(const ConvolutionWork&, const ConvolutionWork&) = default;
};

/// softmax(Q K^T) V of one sample. Forward FLOPs without causal halving:
/// 2 query_heads query_length key_length (head_dim + value_dim).
struct AttentionWork {
  std::int64_t query_heads{}, key_value_heads{}, head_dim{}, value_dim{};
  std::int64_t query_length{}, key_length{};
  std::int64_t window{};  ///< keys that a query sees at most; 0 = all
  bool causal{};
  double dropout_masks{};  ///< 1 when attention dropout keeps a mask (unfused kernels only)
  friend bool operator==(const AttentionWork&, const AttentionWork&) = default;
};

enum class OperatorKind { gemm, convolution, attention, memory };

/// What the forward pass keeps of this operator for some operator's backward, for one sample. Every tensor is
/// counted once, at the operator that makes it; so the layer's input is counted in the layer before, as its
/// output.
struct SavedActivations {
  double elements{};  ///< of the compute type
  double bytes{};     ///< of fixed size (fp32 statistics, masks)
  SavedActivations& operator+=(const SavedActivations& other) {
    elements += other.elements;
    bytes += other.bytes;
    return *this;
  }
  friend bool operator==(const SavedActivations&, const SavedActivations&) = default;
};

struct Operator {
  std::string name;  ///< "attention.qkv"; unique in its layer
  OperatorKind kind{OperatorKind::memory};
  GemmWork gemm;  ///< valid for its kind only, likewise the next three
  ConvolutionWork convolution;
  AttentionWork attention;
  MemoryWork memory;
  SavedActivations saved_eager, saved_fused;
  /// Extra when attention runs unfused: the score matrices (and dropout mask).
  SavedActivations saved_scores;
  /// Cheap to run again: selective checkpointing drops its saved activations and repeats it in backward.
  /// Never set on the operator that makes the layer's output, so what selective keeps is the sum over the
  /// others.
  bool recomputed_by_selective{};
  /// Also repeated where, as torchtitan's "op" policy does, only every second product's output is kept.
  bool recomputed_by_alternate{};
  std::vector<int> parameters;  ///< indices into Layer::parameters whose gradients its backward produces
  friend bool operator==(const Operator&, const Operator&) = default;
};

struct Parameter {
  std::string name;  ///< "self_attn.q_proj.weight"
  std::vector<std::int64_t> shape;
  bool expert{};  ///< belongs to one of several experts
  [[nodiscard]] std::int64_t count() const;
  friend bool operator==(const Parameter&, const Parameter&) = default;
};

enum class LayerKind { embedding, block, head };

/// A unit that FSDP wraps: the embeddings, one transformer block or residual block, the head.
struct Layer {
  std::string name;  ///< "model.layers.3"
  LayerKind kind{LayerKind::block};
  std::vector<Parameter> parameters;  ///< in registration order
  std::vector<Operator> operators;    ///< in forward order
  double output_elements{};           ///< per sample, of the compute type: what crosses to the next layer
  Bytes buffers{};                    ///< module buffers (BatchNorm statistics): DDP broadcasts them
  int first_equal{};  ///< index of the first layer with the same operators and parameters (may be itself)
  // Layers measured instead of modelled ([model] workload): times per micro-batch, no operators.
  std::optional<Seconds> forward_time, backward_time, gradient_ready_time;
  std::optional<Bytes> activation_bytes;  ///< per micro-batch
  [[nodiscard]] std::int64_t parameter_count() const;
};

/// What is only known of a measured workload.
struct MeasuredWorkload {
  std::int64_t samples_per_micro_batch{};
  Seconds optimizer_time;  ///< per step, all parameters, unsharded
  Seconds bucketing_time;  ///< copies into and out of buckets in one synchronised backward
  std::string precision, source, measured_on;
};

struct Model {
  std::string name;
  std::string family;         ///< "llama", "gpt2", "bert", "resnet", "workload", ...
  std::vector<Layer> layers;  ///< in registration and forward order
  bool tied_head{};           ///< the head multiplies by the embedding's weight (no parameter of its own)
  std::int64_t sequence_length{};  ///< tokens of one sample; 0 for images
  std::int64_t vocabulary{};       ///< 0 without logits
  double logits_elements{};        ///< per sample, at the loss
  std::optional<MeasuredWorkload> measured;

  [[nodiscard]] std::int64_t parameter_count() const;
  /// Parameters that one token meets (top-k experts only).
  std::int64_t active_parameter_count{};
  [[nodiscard]] std::string_view sample_word() const { return sequence_length > 0 ? "sequence" : "sample"; }
};

/// What is run again in backward instead of being kept.
/// selective: norms, activations and what else is cheap. alternate: those and every second product, the
/// per-operator policy of torch training code (pytorch/torchtitan, activation checkpointing mode "selective",
/// option "op").
enum class Recompute { none, selective, alternate, full };
[[nodiscard]] bool is_recomputed(const Operator& op, Recompute recompute);

/// What one sample's forward keeps of a layer until its backward. `fused` chooses saved_fused over
/// saved_eager, `scores` adds the score matrices of unfused attention. `recompute` applies to blocks only, as
/// checkpointing wraps no embedding and no head; `full` keeps a block's output, which is the next layer's
/// input. Of modelled layers: measured ones say activation_bytes themselves.
[[nodiscard]] SavedActivations kept_activations(const Layer& layer, Recompute recompute, bool fused,
                                                bool scores);

/// Matrix FLOPs of one sample, forward. Causal attention is halved; windowed attention counts what is seen.
/// Source: design section 6.3 (mfu convention); 2 m n k for a product.
[[nodiscard]] Flop forward_flops(const Operator& op);
[[nodiscard]] Flop forward_flops(const Layer& layer);
[[nodiscard]] Flop forward_flops(const Model& model);
/// Backward: two products for each forward product; one where no input gradient is needed.
[[nodiscard]] Flop backward_flops(const Operator& op);
[[nodiscard]] Flop backward_flops(const Layer& layer);
[[nodiscard]] Flop backward_flops(const Model& model);

}  // namespace stepcast
