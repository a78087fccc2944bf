#include "tests/models/support.hpp"

namespace stepcast {
namespace {

/// Bytes kept of one block in 16 bit.
double bytes_of(const SavedActivations& saved) { return 2 * saved.elements + saved.bytes; }

double block_bytes(const Model& model, Recompute recompute, bool fused, bool scores = false) {
  return bytes_of(kept_activations(model.layers[1], recompute, fused, scores));
}

/// Hidden-state copies: bytes = copies * 2 * s * h.
double copies(const std::string& name, std::int64_t tokens, double hidden, Recompute recompute, bool fused) {
  return block_bytes(preset(name, tokens), recompute, fused) / (2 * static_cast<double>(tokens) * hidden);
}

// Korthikanti et al., arXiv 2205.05198: 34 s b h bytes a block with dropout: norm 2 x 2, qkv input and
// result, ... Fp32 statistics (2 norms * 8 bytes and 4 bytes a head for each token) come on top: 64 / (34 *
// 768) = 0.25 % for GPT-2.
TEST(Activations, OfAGptBlockAreThirtyFourBytesAHiddenElement) {
  for (const bool fused : {false, true}) {
    const double bytes = block_bytes(preset("gpt2", 1024), Recompute::none, fused);
    EXPECT_EQ(bytes, 1024 * (34.0 * 768 + 2 * 8 + 12 * 4));
  }
}

// The same paper: unfused scores add 5 a s^2 bytes: softmax 2, dropout mask 1, dropout result 2.
TEST(Activations, OfUnfusedAttentionAddFiveBytesAScore) {
  const Model model = preset("gpt2", 1024);
  const double extra =
      block_bytes(model, Recompute::none, true, true) - block_bytes(model, Recompute::none, true, false);
  EXPECT_EQ(extra, 5 * 12 * 1024.0 * 1024.0);
}

// BERT's block has the same parts, its norms behind the sums.
TEST(Activations, OfABertBlockAreThirtyFourBytesAHiddenElement) {
  const double bytes = block_bytes(preset("bert-large", 512), Recompute::none, false);
  EXPECT_NEAR(bytes / (512 * 1024.0), 34, 0.1);
}

// Facts 5.1, measured copies per block in eager mode: Llama-3.1-8B 28, Mistral-7B 28, Qwen3-8B 29.8. By hand
// for Llama: two norms of 4 (fp32 input 2, normed 1, result 1), the two sums 2, q k v repeated to all heads
// 3, attention 1, gate, silu, up and product 4 * 3.5 = 14. Qwen3: 8 + 2 + 4 + 4 * 3, and 3 * 1.25 for its
// head norms. Statistics stay below 0.1 copies.
TEST(Activations, OfEagerLlamaLikeBlocksAreTheMeasuredCopies) {
  EXPECT_NEAR(copies("llama-3.1-8b", 8192, 4096, Recompute::none, false), 28, 0.1);
  EXPECT_NEAR(copies("mistral-7b", 8192, 4096, Recompute::none, false), 28, 0.1);
  EXPECT_NEAR(copies("qwen3-8b", 4096, 4096, Recompute::none, false), 29.75, 0.1);
}

// Fused: norms keep their result (2), sums 2, q and k rotated 1.25, v 0.25, attention 1, gate, up,
// product 10.5.
TEST(Activations, OfAFusedLlamaBlockAreSeventeenCopies) {
  EXPECT_NEAR(copies("llama-3.1-8b", 8192, 4096, Recompute::none, true), 17, 0.05);
}

// Products and attention are kept, norms and the activation are not: 17 - 2 - 3.5.
TEST(Activations, OfSelectiveRecomputationDropNormsAndActivations) {
  EXPECT_NEAR(copies("llama-3.1-8b", 8192, 4096, Recompute::selective, true), 11.5, 0.05);
}

// Of the products q, v, gate and down are kept, of k, output and up nothing: 11.5 - 1 (sum) - 3.5 (up).
TEST(Activations, OfAlternateRecomputationDropEverySecondProduct) {
  EXPECT_NEAR(copies("llama-3.1-8b", 8192, 4096, Recompute::alternate, true), 7, 0.05);
}

// Facts 5.1: full recomputation keeps the block's input only, 2 s b h bytes.
TEST(Activations, OfFullRecomputationAreOneCopy) {
  EXPECT_EQ(copies("llama-3.1-8b", 8192, 4096, Recompute::full, true), 1);
}

// What recomputation keeps never grows from none over selective and alternate to full.
TEST(Activations, ShrinkWithMoreRecomputation) {
  for (const std::string& name : model_preset_names()) {
    const Model model = preset(name);
    for (const Layer& layer : model.layers) {
      for (const bool fused : {false, true}) {
        double before = bytes_of(kept_activations(layer, Recompute::none, fused, false));
        for (const Recompute recompute : {Recompute::selective, Recompute::alternate, Recompute::full}) {
          const double now = bytes_of(kept_activations(layer, recompute, fused, false));
          EXPECT_LE(now, before) << name << " " << layer.name;
          before = now;
        }
        EXPECT_LE(kept_activations(layer, Recompute::none, true, false).elements,
                  kept_activations(layer, Recompute::none, false, false).elements + 1e-6)
            << name << " " << layer.name;
      }
    }
  }
}

// Facts 5.1: about 6 bytes a logit: 2 in 16 bit, 4 of log-probabilities.
TEST(Activations, OfTheEagerLossAreSixBytesALogit) {
  const Model model = preset("llama-3.1-8b", 8192);
  const Layer& head = model.layers.back();
  const double logits = 8192.0 * 128256;
  EXPECT_EQ(model.logits_elements, logits);
  const double bytes = bytes_of(operator_named(head, "head.logits").saved_eager) +
                       bytes_of(operator_named(head, "loss.cross_entropy").saved_eager);
  EXPECT_EQ(bytes, 6 * logits);
}

// I42: everything kept is per sample, and all but scores grow in proportion to the tokens.
TEST(Activations, GrowInProportionToTokens) {
  const double once = block_bytes(preset("llama-3.1-8b", 2048), Recompute::none, true);
  EXPECT_EQ(block_bytes(preset("llama-3.1-8b", 4096), Recompute::none, true), 2 * once);
}

// ResNet-50 keeps the result of every convolution, 11,113,984 elements at 224, and of every ReLU: stem
// 802,816, stages 3,612,672, 2,709,504, 1,956,864 and 526,848; then the pools' 200,704 and 2048, and 1000
// logits: 20,926,440.
TEST(Activations, OfResnet50AreConvolutionAndReluResults) {
  const Model model = preset("resnet-50");
  double elements = 0, convolutions = 0;
  for (const Layer& layer : model.layers) {
    elements += kept_activations(layer, Recompute::none, false, false).elements;
    for (const Operator& op : layer.operators) {
      if (op.kind != OperatorKind::convolution) continue;
      convolutions += static_cast<double>(op.convolution.out_channels * op.convolution.out_height *
                                          op.convolution.out_width);
    }
  }
  EXPECT_EQ(convolutions, 11'113'984.0);
  EXPECT_EQ(elements, 20'926'440.0);
}

}  // namespace
}  // namespace stepcast
