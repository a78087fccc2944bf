#include "sim/validate/map_row.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/validate/example_row.hpp"

namespace stepcast {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(MapRow, ARowThatSaysAllBecomesAScenarioWithoutAssumptions) {
  const MappedRow row = mapped();
  EXPECT_THAT(row.assumed, IsEmpty());
  EXPECT_EQ(setting(row, "cluster.node"), "dgx-a100-80g");
  EXPECT_EQ(setting(row, "cluster.nodes"), "2");
  EXPECT_EQ(setting(row, "cluster.gpus_per_node"), "8");
  EXPECT_EQ(setting(row, "cluster.fabric"), "roce-200g");
  EXPECT_EQ(setting(row, "training.strategy"), "fsdp");
  EXPECT_EQ(setting(row, "training.software"), "pytorch-eager");
  EXPECT_EQ(setting(row, "training.precision"), "bf16");
  EXPECT_EQ(setting(row, "training.micro_batch_size"), "8");
  EXPECT_EQ(setting(row, "training.gradient_accumulation_steps"), "1");
  EXPECT_THAT(setting(row, "model.config"), HasSubstr("d_model = 2048"));
}

TEST(MapRow, AMissingSequenceLengthIsTheModelsDefaultAndAssumed) {
  const MappedRow row = mapped({{"model", "GPT-2 medium"}, {"seq_len", ""}});
  EXPECT_EQ(setting(row, "model.sequence_length"), "1024");
  EXPECT_THAT(row.assumed, ElementsAre(HasSubstr("sequence length 1024")));
}

TEST(MapRow, AMissingNetworkIsTheGpusUsualOneAndAssumed) {
  const MappedRow row = mapped({{"inter_node_link", ""}, {"inter_node_gbps_per_gpu", ""}});
  EXPECT_EQ(setting(row, "cluster.fabric"), "infiniband-200g");
  EXPECT_THAT(row.assumed, ElementsAre(HasSubstr("infiniband-200g")));
}

TEST(MapRow, AMissingNetworkDoesNotMatterOnOneNode) {
  const MappedRow row = mapped({{"gpus_total", "8"},
                                {"global_batch_sequences", "64"},
                                {"inter_node_link", ""},
                                {"inter_node_gbps_per_gpu", ""}});
  EXPECT_THAT(row.assumed, IsEmpty());
  EXPECT_EQ(setting(row, "cluster.fabric"), "");
}

// One EDR port serves the eight GPUs of a node: 8 x 12.5 Gb/s a GPU = 100 Gb/s on one port.
TEST(MapRow, OnePortANodeIsOneFastPortNotEightSlowOnes) {
  const MappedRow row = mapped({{"gpu", "V100-SXM2-16GB"},
                                {"inter_node_link", "InfiniBand EDR 100 Gb/s (one NIC per node)"},
                                {"inter_node_gbps_per_gpu", "12.5"}});
  EXPECT_EQ(setting(row, "cluster.fabric"), "infiniband-100g");
  EXPECT_EQ(setting(row, "cluster.nics_per_node"), "1");
}

TEST(MapRow, OfPortsWithRolesTheComputePartIsTaken) {
  const MappedRow row =
      mapped({{"gpu", "NVIDIA H100-SXM5-80GB"},
              {"inter_node_link",
               "Storage: 2x ConnectX-6 IB HDR 200Gb/s, Compute: 8 x ConnectX - 7 IB NDR 400 Gb / Sec, "
               "Management: 100Gb/s Ethernet NIC"},
              {"inter_node_gbps_per_gpu", ""}});
  EXPECT_EQ(setting(row, "cluster.fabric"), "infiniband-400g");
  EXPECT_EQ(setting(row, "cluster.nics_per_node"), "8");
}

TEST(MapRow, SpellingsOfGpusFindTheirNode) {
  const auto node = [](const std::string& gpu, const std::string& per_node = "8") {
    return setting(mapped({{"gpu", gpu}, {"gpus_per_node", per_node}}), "cluster.node");
  };
  EXPECT_EQ(node("NVIDIA A100-SXM4-40GB (400W)"), "dgx-a100-40g");  // 400W is no memory size
  EXPECT_EQ(node("NVIDIA A100-PCIE-40GB (250W)"), "pcie-a100-40g");
  EXPECT_EQ(node("RAIDZ1 H100 80GB SXM5"), "hgx-h100");
  EXPECT_EQ(node("H100-80GB-PCI"), "pcie-h100");
  EXPECT_EQ(node("NVIDIA H200-SXM5-141GB"), "hgx-h200");
  EXPECT_EQ(node("Lambda Cloud A10", "4"), "pcie-a10");  // and not A100
  EXPECT_EQ(node("NVIDIA L40S", "4"), "pcie-l40s");
  EXPECT_EQ(node("V100-32GB", "16"), "dgx-2");
  EXPECT_EQ(node("p4d.24xlarge"), "dgx-a100-40g");
}

TEST(MapRow, ABareV100IsAssumedToHave32Gigabytes) {
  EXPECT_THAT(mapped({{"gpu", "V100"}}).assumed, Contains(HasSubstr("32 GB")));
}

TEST(MapRow, DdpInBracketsWithFsdpIsDdp) {
  EXPECT_EQ(mapped({{"zero_stage_or_sharding", "DDP (FSDP=0)"}}).strategy, "ddp");
  EXPECT_EQ(mapped({{"zero_stage_or_sharding", "none (all-reduce DP)"}}).strategy, "ddp");
  EXPECT_EQ(mapped({{"zero_stage_or_sharding", "FSDP2 full shard 16"}}).strategy, "fsdp");
  EXPECT_EQ(mapped({{"zero_stage_or_sharding", "ZeRO-3"}, {"framework", "HF Trainer + DeepSpeed"}}).strategy,
            "zero3");
}

TEST(MapRow, TheContainersDefaultIsTf32OnlyFromAmpereOn) {
  const std::string words = "fp32 (TF32 on Ampere+ per container default)";
  EXPECT_EQ(setting(mapped({{"precision", words}}), "training.precision"), "tf32");
  EXPECT_EQ(setting(mapped({{"precision", words}, {"gpu", "V100 32GB"}}), "training.precision"), "fp32");
  EXPECT_EQ(setting(mapped({{"precision", "bf16 (fp8 lm_head from 2025-01)"}}), "training.precision"),
            "bf16");
  EXPECT_EQ(setting(mapped({{"precision", "bf16+float8"}}), "training.precision"), "fp8");
}

TEST(MapRow, SoftwareFollowsFrameworkAndCompilation) {
  EXPECT_EQ(mapped({{"framework", "torchtitan"}, {"torch_compile", "yes"}}).software, "pytorch-compiled");
  EXPECT_EQ(mapped({{"framework", "torchtitan"}, {"torch_compile", "no"}}).software, "pytorch-eager");
  EXPECT_EQ(mapped({{"framework", "HF without DeepSpeed"}}).software, "pytorch-eager");
  EXPECT_EQ(mapped({{"framework", "NeMo/Megatron-Core"}}).software, "megatron-core");
}

// What a framework is known to do differently is set, and is no assumption about the row.
TEST(MapRow, FrameworksBringTheirOwnDefaults) {
  const MappedRow nemo =
      mapped({{"framework", "NeMo/Megatron-Core"}, {"zero_stage_or_sharding", "distributed optimizer"}});
  EXPECT_EQ(setting(nemo, "training.overlap_grad_reduce"), "true");
  EXPECT_THAT(nemo.assumed, IsEmpty());
  EXPECT_EQ(setting(mapped({{"framework", "Megatron-LM"}}), "training.overlap_grad_reduce"), "");
}

TEST(MapRow, DepthComesFromTheColumnNotFromTheName) {
  const MappedRow row = mapped({{"model", "llama3.1 Llama3.1 405b"},
                                {"layers", "7"},
                                {"hidden", "16384"},
                                {"heads", "128"},
                                {"kv_heads", "8"},
                                {"ffn_hidden", "53248"},
                                {"vocab", "128256"}});
  EXPECT_THAT(setting(row, "model.config"), HasSubstr("num_hidden_layers = 7"));
  EXPECT_EQ(row.model, "llama-3.1-405b");
}

TEST(MapRow, WithoutShapeColumnsTheNamedPresetIsTaken) {
  const MappedRow row = mapped({{"model", "Llama2-7B"}, {"layers", ""}, {"hidden", ""}});
  EXPECT_EQ(setting(row, "model.preset"), "llama-2-7b");
}

// 16 GPUs x micro-batch 4 = 64; 256 / 64 = 4 micro-batches, whatever the joined column says.
TEST(MapRow, AccumulationThatContradictsTheGlobalBatchFollowsIt) {
  const MappedRow row =
      mapped({{"micro_batch_per_gpu", "4"}, {"grad_accum", "1"}, {"global_batch_sequences", "256"}});
  EXPECT_EQ(setting(row, "training.gradient_accumulation_steps"), "4");
  EXPECT_THAT(row.assumed, ElementsAre(HasSubstr("the row says 1")));
}

// 256 / (16 GPUs x 2) = 8.
TEST(MapRow, TheMicroBatchFollowsFromTheGlobalBatch) {
  const MappedRow row =
      mapped({{"micro_batch_per_gpu", ""}, {"grad_accum", "2"}, {"global_batch_sequences", "256"}});
  EXPECT_EQ(setting(row, "training.micro_batch_size"), "8");
  EXPECT_THAT(row.assumed, IsEmpty());
}

TEST(MapRow, ImagesNeedNoSequenceLengthAndNoCheckpointing) {
  const MappedRow row = mapped({{"model", "ResNet-50 v1.5"},
                                {"seq_len", ""},
                                {"activation_checkpoint", ""},
                                {"framework", "PyTorch"},
                                {"zero_stage_or_sharding", "none"},
                                {"metric_unit", "images/s"},
                                {"metric_value", "6400"}});
  EXPECT_EQ(setting(row, "model.preset"), "resnet-50");
  EXPECT_EQ(setting(row, "model.sequence_length"), "");
  EXPECT_EQ(setting(row, "training.optimizer"), "sgd");
  EXPECT_THAT(row.assumed, IsEmpty());
}

TEST(MapRow, UnstatedCheckpointingIsAssumedToBeOff) {
  EXPECT_THAT(mapped({{"activation_checkpoint", ""}}).assumed, ElementsAre("no activation checkpointing"));
}

TEST(MapRow, FewerGpusThanANodeHasUsePartOfIt) {
  const MappedRow row = mapped({{"gpus_total", "2"}, {"global_batch_sequences", "16"}});
  EXPECT_EQ(setting(row, "cluster.nodes"), "1");
  EXPECT_EQ(setting(row, "cluster.gpus_per_node"), "2");
}

}  // namespace
}  // namespace stepcast
