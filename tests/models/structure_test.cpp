#include <map>
#include <set>

#include "tests/models/support.hpp"

namespace stepcast {
namespace {

/// Every preset, and a name for messages.
template <class Check>
void for_every_preset(Check check) {
  for (const std::string& name : model_preset_names()) {
    SCOPED_TRACE(name);
    check(preset(name));
  }
}

// A gradient nobody produces would never be reduced; one produced twice would be reduced too early.
TEST(Structure, EveryParameterGetsItsGradientFromExactlyOneOperator) {
  for_every_preset([](const Model& model) {
    for (const Layer& layer : model.layers) {
      std::vector<int> producers(layer.parameters.size());
      for (const Operator& op : layer.operators) {
        for (const int index : op.parameters) ++producers.at(static_cast<std::size_t>(index));
      }
      for (std::size_t p = 0; p < producers.size(); ++p) {
        EXPECT_EQ(producers[p], 1) << layer.name << " " << layer.parameters[p].name;
      }
    }
  });
}

// A product's parameters are its weights: columns * depth elements for each group.
TEST(Structure, WeightsHaveTheSizeOfTheirProducts) {
  for_every_preset([](const Model& model) {
    for (const Layer& layer : model.layers) {
      for (const Operator& op : layer.operators) {
        if (op.kind != OperatorKind::gemm || op.parameters.empty()) continue;
        std::int64_t elements = 0;
        for (const int index : op.parameters)
          elements += layer.parameters[static_cast<std::size_t>(index)].count();
        EXPECT_EQ(elements, op.gemm.columns * op.gemm.depth * op.gemm.groups) << layer.name << " " << op.name;
      }
    }
  });
}

TEST(Structure, OperatorAndParameterNamesAreUniqueInTheirLayer) {
  for_every_preset([](const Model& model) {
    for (const Layer& layer : model.layers) {
      std::set<std::string> operators, parameters;
      for (const Operator& op : layer.operators) EXPECT_TRUE(operators.insert(op.name).second) << op.name;
      for (const Parameter& p : layer.parameters) EXPECT_TRUE(parameters.insert(p.name).second) << p.name;
    }
  });
}

// Fusing never moves more bytes nor launches more kernels; nothing moves without a kernel.
TEST(Structure, FusedTrafficIsAtMostEagerTraffic) {
  for_every_preset([](const Model& model) {
    for (const Layer& layer : model.layers) {
      for (const Operator& op : layer.operators) {
        if (op.kind != OperatorKind::memory) continue;
        const auto bytes = [](const Traffic& t) { return 2 * t.elements + 4 * t.fp32_elements + t.bytes; };
        const MemoryWork& work = op.memory;
        EXPECT_LE(work.fused_forward.kernels, work.eager_forward.kernels) << op.name;
        EXPECT_LE(work.fused_backward.kernels, work.eager_backward.kernels) << op.name;
        // A fused norm reads the residual's gradient too, which eager adds in the residual.
        if (!op.name.ends_with("norm")) {
          EXPECT_LE(bytes(work.fused_forward), bytes(work.eager_forward)) << op.name;
          EXPECT_LE(bytes(work.fused_backward), bytes(work.eager_backward)) << op.name;
        }
        for (const Traffic* t :
             {&work.eager_forward, &work.eager_backward, &work.fused_forward, &work.fused_backward}) {
          EXPECT_TRUE(t->kernels > 0 || bytes(*t) == 0) << op.name;
        }
      }
    }
  });
}

TEST(Structure, LayersAreEmbeddingBlocksHead) {
  const Model model = preset("llama-3.1-8b");
  ASSERT_EQ(model.layers.size(), 34u);
  EXPECT_EQ(model.layers.front().kind, LayerKind::embedding);
  EXPECT_EQ(model.layers[4].name, "model.layers.3");
  EXPECT_EQ(model.layers[4].kind, LayerKind::block);
  EXPECT_EQ(model.layers.back().kind, LayerKind::head);
  EXPECT_EQ(model.layers[4].output_elements, 8192.0 * 4096);
}

// Hugging Face's Llama registers attention, MLP and then the norms, whatever their order of use.
TEST(Structure, ParametersStandInRegistrationOrder) {
  const Model model = preset("llama-3.1-8b");
  std::vector<std::string> names;
  for (const Parameter& p : model.layers[1].parameters) names.push_back(p.name);
  const std::vector<std::string> expected = {
      "self_attn.q_proj.weight", "self_attn.k_proj.weight", "self_attn.v_proj.weight",
      "self_attn.o_proj.weight", "mlp.gate_proj.weight",    "mlp.up_proj.weight",
      "mlp.down_proj.weight",    "input_layernorm.weight",  "post_attention_layernorm.weight"};
  EXPECT_EQ(names, expected);
}

// Grouped query attention: 8 of 32 heads of 128 are 1024 columns.
TEST(Structure, ProjectionsOfLlamaAreThreeProducts) {
  const Model model = preset("llama-3.1-8b", 100);
  const Layer& block = model.layers[1];
  const Operator& q = operator_named(block, "attention.q");
  const Operator& k = operator_named(block, "attention.k");
  EXPECT_EQ(q.gemm.rows, 100);
  EXPECT_EQ(q.gemm.columns, 4096);
  EXPECT_EQ(k.gemm.columns, 1024);
  EXPECT_EQ(k.gemm.depth, 4096);
  EXPECT_EQ(block.parameters[static_cast<std::size_t>(k.parameters.at(0))].name, "self_attn.k_proj.weight");
}

// GPT-2's Conv1D stores [in, out]; sharding by the first dimension sees 768 rows.
TEST(Structure, WeightsOfGpt2AreTransposed) {
  const Layer block = preset("gpt2").layers[1];
  const Operator& qkv = operator_named(block, "attention.qkv");
  EXPECT_EQ(block.parameters[static_cast<std::size_t>(qkv.parameters.at(0))].shape,
            (std::vector<std::int64_t>{768, 2304}));
}

TEST(Structure, ATiedHeadHasNoParameterOfItsOwn) {
  const Model model = preset("gpt2");
  EXPECT_TRUE(model.tied_head);
  EXPECT_TRUE(operator_named(model.layers.back(), "head.logits").parameters.empty());
  EXPECT_EQ(model.layers.back().parameter_count(), 2 * 768);  // the final norm
  EXPECT_FALSE(preset("llama-3.1-8b").tied_head);
}

TEST(Structure, EqualBlocksPointAtTheFirstOfThem) {
  const Model llama = preset("llama-3.1-8b");
  EXPECT_EQ(llama.layers[0].first_equal, 0);
  for (std::size_t i = 1; i <= 32; ++i) EXPECT_EQ(llama.layers[i].first_equal, 1);
  EXPECT_EQ(llama.layers[33].first_equal, 33);
  // Gemma 2: every second layer has a window.
  const Model gemma = preset("gemma-2-2b");
  EXPECT_EQ(gemma.layers[3].first_equal, 1);
  EXPECT_EQ(gemma.layers[4].first_equal, 2);
  EXPECT_EQ(operator_named(gemma.layers[1], "attention.core").attention.window, 4096);
  EXPECT_EQ(operator_named(gemma.layers[2], "attention.core").attention.window, 0);
  // ResNet-50: four stages of a first and equal further blocks.
  const Model resnet = preset("resnet-50");
  std::map<int, int> classes;
  for (const Layer& layer : resnet.layers) ++classes[layer.first_equal];
  EXPECT_EQ(classes.size(), 2u + 8u);
}

// Mixtral: 8 experts of 3 * 4096 * 14336 in 32 layers; a token meets 2 of them: 46,702,792,704 - 32 * 6 *
// 176,160,768.
TEST(Structure, ATokenMeetsTheChosenExpertsOnly) {
  const Model model = preset("mixtral-8x7b");
  EXPECT_EQ(model.active_parameter_count, 46'702'792'704 - 32 * 6 * 176'160'768LL);
  EXPECT_EQ(model.active_parameter_count, 12'879'925'248);
  EXPECT_EQ(preset("gpt2").active_parameter_count, 124'439'808);
  const Operator& gate = operator_named(model.layers[1], "mlp.gate");
  EXPECT_EQ(gate.gemm.groups, 8);
  EXPECT_EQ(gate.gemm.rows, 32768 * 2 / 8.0);
  EXPECT_EQ(gate.parameters.size(), 8u);
  EXPECT_TRUE(model.layers[1].parameters[static_cast<std::size_t>(gate.parameters[7])].expert);
  EXPECT_EQ(model.layers[1].parameters[static_cast<std::size_t>(gate.parameters[7])].name,
            "block_sparse_moe.experts.7.w1.weight");
}

// ResNet-50 has 53 batch norms with 26,560 channels: 2 * 4 bytes each, and 53 counters of 8 bytes.
TEST(Structure, ResnetCarriesItsBatchNormBuffers) {
  const Model model = preset("resnet-50");
  Bytes buffers;
  for (const Layer& layer : model.layers) buffers += layer.buffers;
  EXPECT_EQ(buffers.value, 8 * 26'560 + 53 * 8);
}

// llm-foundry's benchmark grows the position table with the sequence: its MPT-7b has 6,658.859 M parameters
// at 2048 tokens and 6,667.248 M at 4096 (scripts/train/benchmarking/README.md, commit 8c8dd48f).
TEST(Structure, MptPositionsFollowTheSequence) {
  EXPECT_NEAR(static_cast<double>(preset("mpt-7b", 2048).parameter_count()), 6658.859e6, 500);
  EXPECT_NEAR(static_cast<double>(preset("mpt-7b", 4096).parameter_count()), 6667.248e6, 500);
  EXPECT_NEAR(static_cast<double>(preset("mpt-30b", 2048).parameter_count()), 29975.214e6, 500);
  EXPECT_NEAR(static_cast<double>(preset("mpt-70b", 2048).parameter_count()), 64862.437e6, 500);
}

}  // namespace
}  // namespace stepcast
