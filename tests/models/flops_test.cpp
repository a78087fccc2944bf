#include "tests/models/support.hpp"

namespace stepcast {
namespace {

double attention_flops(const Model& model) {
  double total = 0;
  for (const Layer& layer : model.layers) {
    for (const Operator& op : layer.operators) {
      if (op.kind == OperatorKind::attention) total += forward_flops(op).value;
    }
  }
  return total;
}

/// Weights that a token is multiplied by: all but the tables of embeddings, biases and norms.
double multiplied_weights(const Model& model) {
  double total = 0;
  for (const Layer& layer : model.layers) {
    for (const Operator& op : layer.operators) {
      if (op.kind == OperatorKind::gemm) {
        total += static_cast<double>(op.gemm.columns * op.gemm.depth * op.gemm.groups);
      }
    }
  }
  return total;
}

// I36: 2 m n k forward; backward is two products of the same size, so training is three times forward.
TEST(Flops, OfAProductAreTwoRowsColumnsDepthAndTwiceThatBackward) {
  Operator op;
  op.kind = OperatorKind::gemm;
  op.gemm.rows = 3;
  op.gemm.columns = 5;
  op.gemm.depth = 7;
  EXPECT_EQ(forward_flops(op).value, 2.0 * 3 * 5 * 7);
  EXPECT_EQ(backward_flops(op).value, 4.0 * 3 * 5 * 7);
  op.gemm.groups = 4;
  EXPECT_EQ(forward_flops(op).value, 4 * 2.0 * 3 * 5 * 7);
}

// I36: every product of a transformer has both gradients.
TEST(Flops, OfTrainingATransformerAreThreeTimesForward) {
  for (const auto* name : {"gpt2", "llama-3.1-8b", "mixtral-8x7b", "bert-base", "falcon-7b"}) {
    const Model model = preset(name, 512);
    EXPECT_EQ(backward_flops(model).value, 2 * forward_flops(model).value) << name;
  }
}

// I37: 12 L h s per token with all pairs, 6 L h s with the causal half: they differ by 6 L h s.
// GPT-2, s = 1024: 12 * 12 * 768 * 1024 = 113,246,208 for forward and backward together.
TEST(Flops, OfCausalAttentionAreHalfOfFullAttention) {
  Model causal = preset("gpt2", 1024);
  Model full = causal;
  for (Layer& layer : full.layers) {
    for (Operator& op : layer.operators) op.attention.causal = false;
  }
  const double tokens = 1024;
  EXPECT_EQ(3 * attention_flops(full) / tokens, 113'246'208.0);
  EXPECT_EQ(3 * (attention_flops(full) - attention_flops(causal)) / tokens, 113'246'208.0 / 2);
}

// I37: 6 N = 746,638,848 for N = 124,439,808. N counts the position table (1024 * 768 = 786,432), biases and
// norms
// ((13 * 768 per block) * 12 + 1536 = 121,344), which multiply nothing; the tied table multiplies once, in
// the head.
TEST(Flops, OfProductsAreSixTimesTheWeightsThatMultiply) {
  const Model model = preset("gpt2", 1024);
  const double n = 124'439'808;
  EXPECT_EQ(6 * n, 746'638'848.0);
  EXPECT_EQ(multiplied_weights(model), n - 786'432 - 121'344);
  const double products = forward_flops(model).value - attention_flops(model);
  EXPECT_EQ(3 * products / 1024, 6 * (n - 786'432 - 121'344));
}

// Window 2 of 4 keys, causal, with the halving convention: 4 * (2 - 2^2 / (2 * 4)) = 6 pairs; 4 * 4 / 2 = 8
// without.
TEST(Flops, OfWindowedAttentionCountWhatIsSeen) {
  Operator op;
  op.kind = OperatorKind::attention;
  op.attention.query_heads = 1;
  op.attention.head_dim = op.attention.value_dim = 1;
  op.attention.query_length = op.attention.key_length = 4;
  op.attention.causal = true;
  EXPECT_EQ(forward_flops(op).value, 2 * 2 * 8.0);
  op.attention.window = 2;
  EXPECT_EQ(forward_flops(op).value, 2 * 2 * 6.0);
  op.attention.window = 100;
  EXPECT_EQ(forward_flops(op).value, 2 * 2 * 8.0);
}

// Two of eight experts work for every token: MLP FLOPs are 2 * 3 * 2 h f a token and layer, the router's 2
// h 8.
TEST(Flops, OfExpertsCountTheChosenOnes) {
  const Model model = preset("mixtral-8x7b", 64);
  double mlp = 0;
  for (const Operator& op : model.layers[1].operators) {
    if (op.name.starts_with("mlp.")) mlp += forward_flops(op).value;
  }
  EXPECT_EQ(mlp, 64 * (2 * 3 * 2 * 4096.0 * 14336 + 2 * 4096.0 * 8));
}

// torchvision lists 4.09 GMAC at 224 x 224: 8.18 GFLOP.
TEST(Flops, OfResnet50AreTwiceItsMultiplyAdds) {
  EXPECT_NEAR(forward_flops(preset("resnet-50")).value, 2 * 4.09e9, 0.01e9);
}

// The first convolution needs no input gradient: 2 * 112^2 * 64 * 3 * 7^2 = 236,027,904 FLOPs less.
TEST(Flops, OfResnetBackwardAreTwiceForwardLessTheFirstInputGradient) {
  const Model model = preset("resnet-50");
  EXPECT_EQ(2 * forward_flops(model).value - backward_flops(model).value, 236'027'904.0);
}

// An encoder block of T5-large at 512: products 2 * 512 * (4 * 1024^2 + 2 * 1024 * 4096), attention 4 * 16 *
// 64 * 512^2. A decoder block at 128 targets: its own 2 * 128 * (6 * 1024^2 + 2 * 1024 * 4096) (q, o twice;
// k, v once) and the encoder's tokens through k and v, 2 * 512 * 2 * 1024^2; causal 4 * 1024 * 128^2 / 2 and
// cross 4 * 1024 * 128 * 512.
TEST(Flops, OfT5CountEncoderAndTargetTokens) {
  const Model model = preset("t5-large", 512);
  const double h = 1024, f = 4096;
  EXPECT_EQ(forward_flops(model.layers[2]).value, 2 * 512 * (4 * h * h + 2 * h * f) + 4 * h * 512 * 512);
  EXPECT_EQ(forward_flops(model.layers[26]).value, 2 * 128 * (6 * h * h + 2 * h * f) + 2 * 512 * 2 * h * h +
                                                       4 * h * 128 * 128 / 2 + 4 * h * 128 * 512);
}

// torchvision lists 61.55 GMAC for ViT-L/16 at 224 (197 tokens), the scores' products included.
TEST(Flops, OfAVisionTransformerAreTwiceItsMultiplyAdds) {
  const Model model = preset("vit-l-16");
  EXPECT_NEAR(forward_flops(model).value, 2 * 61.55e9, 0.1e9);
  EXPECT_EQ(attention_flops(model), 24 * 4 * 1024.0 * 197 * 197);
}

// Every weight but the first layer's meets three products of 2 FLOPs; the first needs no input gradient.
TEST(Flops, AnMlpsFirstProductNeedsNoInputGradient) {
  const Model model = preset("stepcast-mlp");
  const double first = 2.0 * 512 * 1024, others = 2.0 * (3 * 1024 * 1024 + 1024 * 256);
  EXPECT_DOUBLE_EQ(forward_flops(model).value, first + others);
  EXPECT_DOUBLE_EQ(backward_flops(model).value, first + 2 * others);
}

}  // namespace
}  // namespace stepcast
