#include <filesystem>

#include "../temporary_file.hpp"
#include "base/document.hpp"
#include "read.hpp"
#include "topology/cluster.hpp"

namespace stepcast {
namespace {

namespace fs = std::filesystem;

// Files that users have published (../shared/formats beside the repository; skipped where it is absent).
fs::path specimens() { return fs::path(STEPCAST_SOURCE_DIR) / ".." / "shared" / "formats"; }

struct NodeSpecimen {
  std::string file, summary, questions;
};
void PrintTo(const NodeSpecimen& specimen, std::ostream* out) { *out << specimen.file; }

class NodeSpecimens : public testing::TestWithParam<NodeSpecimen> {};

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

TEST_P(NodeSpecimens, LoadOnceTheQuestionsAreAnswered) {
  const fs::path file = specimens() / GetParam().file;
  if (!fs::exists(file)) GTEST_SKIP() << "no " << file;
  const std::string text = read_file(file);
  const TopologyImport import = read_topology(text);
  EXPECT_EQ(import.summary, GetParam().summary);
  EXPECT_EQ(joined(keys_of(import)), GetParam().questions);
  const NodeSpec node = complete_by_examples(text);
  EXPECT_EQ(node.gpus, std::stoi(import.summary));
}

INSTANTIATE_TEST_SUITE_P(
    Published, NodeSpecimens,
    testing::Values(
        NodeSpecimen{"nvidia-smi-topo/2gpu-nv1-old-legend.txt",
                     "2 GPUs, NVLink between 1 pair, 0 PCIe switches, 1 network card, 1 NUMA node",
                     "gpu host.cpu host.memory_rate nic.rate"},
        NodeSpecimen{"nvidia-smi-topo/2gpu-nv2.txt",
                     "2 GPUs, NVLink between 1 pair, 0 PCIe switches, 0 network cards, 1 NUMA node",
                     "gpu host.cpu host.memory_rate"},
        NodeSpecimen{"nvidia-smi-topo/2gpu-phb.txt",
                     "2 GPUs, no NVLink, 0 PCIe switches, 0 network cards, 1 NUMA node",
                     "gpu host.cpu host.memory_rate"},
        NodeSpecimen{"nvidia-smi-topo/2x-rtxpro6000-node.txt",
                     "2 GPUs, no NVLink, 0 PCIe switches, 0 network cards, 1 NUMA node",
                     "gpu host.cpu host.memory_rate"},
        NodeSpecimen{"nvidia-smi-topo/3gpu-rows-out-of-order.txt",
                     "3 GPUs, NVSwitch, 1 PCIe switch, 1 network card, 1 NUMA node",
                     "gpu host.cpu host.memory_rate nic.rate"},
        NodeSpecimen{"nvidia-smi-topo/4xv100-slice-nv1-nv2.txt",
                     "4 GPUs, NVLink between 6 pairs, 0 PCIe switches, 1 network card, 2 NUMA nodes",
                     "gpu host.cpu host.memory_rate host.socket_rate nic.rate"},
        NodeSpecimen{"nvidia-smi-topo/8gpu-nv18-rail-per-gpu-sglang-env.txt",
                     "8 GPUs, NVSwitch, 8 PCIe switches, 8 network cards, 2 NUMA nodes",
                     "gpu host.cpu host.memory_rate host.socket_rate nic.rate"},
        NodeSpecimen{"nvidia-smi-topo/8xa100-hand-aligned.txt",
                     "8 GPUs, NVSwitch, 0 PCIe switches, 0 network cards, 2 NUMA nodes",
                     "gpu host.cpu host.memory_rate host.socket_rate"},
        NodeSpecimen{"nvidia-smi-topo/8xa800-nv8-2nic.txt",
                     "8 GPUs, NVSwitch, 8 PCIe switches, 2 network cards, 2 NUMA nodes",
                     "gpu host.cpu host.memory_rate host.socket_rate nic.rate"},
        NodeSpecimen{"nvidia-smi-topo/8xb200-tabs-vllm-env.txt",
                     "8 GPUs, NVSwitch, 4 PCIe switches, 8 network cards, 2 NUMA nodes",
                     "gpu host.cpu host.memory_rate host.socket_rate nic.rate"},
        NodeSpecimen{"nvidia-smi-topo/8xh100-hand-aligned.txt",
                     "8 GPUs, NVSwitch, 0 PCIe switches, 0 network cards, 2 NUMA nodes",
                     "gpu host.cpu host.memory_rate host.socket_rate"},
        NodeSpecimen{"nvidia-smi-topo/asus-esc8000a-e12.txt",
                     "4 GPUs, no NVLink, 2 PCIe switches, 4 network cards, 2 NUMA nodes",
                     "gpu host.cpu host.memory_rate host.socket_rate nic.rate"},
        NodeSpecimen{"nvidia-smi-topo/azure-nc-a100-1.txt",
                     "2 GPUs, NVLink between 1 pair, 0 PCIe switches, 0 network cards, 1 NUMA node",
                     "gpu host.cpu host.memory_rate"},
        NodeSpecimen{"nvidia-smi-topo/dgx-h100-mlx5-columns-no-nic-rows.txt",
                     "8 GPUs, NVSwitch, 8 PCIe switches, 10 network cards, 2 NUMA nodes",
                     "gpu host.cpu host.memory_rate host.socket_rate nic.rate"},
        NodeSpecimen{"nvidia-smi-topo/dgx-h100-opa-affinity.txt",
                     "8 GPUs, NVSwitch, 0 PCIe switches, 0 network cards, 2 NUMA nodes",
                     "gpu host.cpu host.memory_rate host.socket_rate"},
        NodeSpecimen{"nvidia-smi-topo/dgx1v-class-8xv100-1nic.txt",
                     "8 GPUs, NVLink between 16 pairs, 1 PCIe switch, 1 network card, 2 NUMA nodes",
                     "gpu host.cpu host.memory_rate host.socket_rate nic.rate"},
        NodeSpecimen{"nvidia-smi-topo/hgx-a100-8gpu-1nic-8numa.txt",
                     "8 GPUs, NVSwitch, 4 PCIe switches, 1 network card, 4 NUMA nodes",
                     "gpu host.cpu host.memory_rate host.socket_rate nic.rate"},
        NodeSpecimen{"nvidia-smi-topo/oci-h100-4gpu-shared-nic.txt",
                     "4 GPUs, NVSwitch, 10 PCIe switches, 4 network cards, 1 NUMA node",
                     "gpu host.cpu host.memory_rate nic.rate"},
        NodeSpecimen{"nvidia-smi-topo/puget-wrx90.txt",
                     "2 GPUs, no NVLink, 1 PCIe switch, 2 network cards, 1 NUMA node",
                     "gpu host.cpu host.memory_rate nic.rate"},
        NodeSpecimen{"nccl-topo-xml/aws-p4de-24xl-topo.xml",
                     "8 GPUs, no NVLink, 4 PCIe switches, 4 network cards, 2 NUMA nodes",
                     "host.memory_rate host.socket_rate nic.rate nvlink.kind"},
        NodeSpecimen{"nccl-topo-xml/azure-nc48v4-topo.xml",
                     "2 GPUs, NVLink between 1 pair, 0 PCIe switches, 1 network card, 2 NUMA nodes",
                     "host.memory_rate host.socket_rate"},
        NodeSpecimen{"nccl-topo-xml/azure-ncv4-topo.xml",
                     "4 GPUs, no NVLink, 0 PCIe switches, 1 network card, 4 NUMA nodes",
                     "host.memory_rate host.socket_rate"},
        NodeSpecimen{"nccl-topo-xml/azure-ndv2-topo.xml",
                     "8 GPUs, no NVLink, 0 PCIe switches, 1 network card, 2 NUMA nodes",
                     "gpu host.memory_rate host.socket_rate nic.rate nvlink.kind"},
        NodeSpecimen{"nccl-topo-xml/azure-ndv4-topo.xml",
                     "8 GPUs, no NVLink, 4 PCIe switches, 8 network cards, 4 NUMA nodes",
                     "gpu host.memory_rate host.socket_rate nic.rate nvlink.kind"},
        NodeSpecimen{"nccl-topo-xml/azure-ndv5-topo.xml",
                     "8 GPUs, no NVLink, 8 PCIe switches, 8 network cards, 2 NUMA nodes",
                     "gpu host.memory_rate host.socket_rate nic.rate nvlink.kind"},
        NodeSpecimen{"nccl-topo-xml/dump-2x-4090-4numa-cx4.xml",
                     "2 GPUs, no NVLink, 1 PCIe switch, 2 network cards, 2 NUMA nodes",
                     "host.memory_rate host.socket_rate"},
        NodeSpecimen{"nccl-topo-xml/dump-4x-a6000-docker.xml",
                     "4 GPUs, no NVLink, 0 PCIe switches, 2 network cards, 2 NUMA nodes",
                     "host.memory_rate host.socket_rate"},
        NodeSpecimen{"nccl-topo-xml/dump-h800.xml",
                     "8 GPUs, NVSwitch, 8 PCIe switches, 8 network cards, 2 NUMA nodes",
                     "host.memory_rate host.socket_rate"},
        NodeSpecimen{"nccl-topo-xml/oci-flattened-b4.xml",
                     "8 GPUs, no NVLink, 4 PCIe switches, 8 network cards, 4 NUMA nodes",
                     "gpu host.memory_rate host.socket_rate nic.rate nvlink.kind"},
        NodeSpecimen{"nccl-topo-xml/oci-h100.xml",
                     "8 GPUs, NVSwitch, 32 PCIe switches, 16 network cards, 2 NUMA nodes",
                     "host.memory_rate host.socket_rate"}),
    [](const auto& parameter) {
      std::string name = fs::path(parameter.param.file).stem().string();
      std::replace_if(
          name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
      return name;
    });

struct FabricSpecimen {
  std::string file, summary;
  int nodes{};  ///< of them that are asked for
};
void PrintTo(const FabricSpecimen& specimen, std::ostream* out) { *out << specimen.file; }

class FabricSpecimens : public testing::TestWithParam<FabricSpecimen> {};

TEST_P(FabricSpecimens, LoadAndCarryAJob) {
  const fs::path file = specimens() / GetParam().file;
  if (!fs::exists(file)) GTEST_SKIP() << "no " << file;
  const std::string text = read_file(file);
  TopologyImport import = read_topology(text);
  EXPECT_EQ(import.summary, GetParam().summary);
  std::vector<ImportSetting> settings;
  for (const Question& question : import.questions) settings.push_back({question.key, question.example});
  import = read_topology(text, settings);
  ASSERT_TRUE(import.questions.empty());
  const TemporaryFile written(import.toml);
  ClusterRequest request;
  request.nodes = GetParam().nodes;
  request.node = load_node("hgx-h100", {});
  request.gpus_per_node = 8;
  request.fabric = load_fabric(written.path(), {});
  request.topology = "graph";
  const Cluster cluster(request);
  EXPECT_FALSE(cluster.route(cluster.gpu_device(0), cluster.gpu_device(cluster.gpu_count() - 1)).empty());
}

INSTANTIATE_TEST_SUITE_P(
    Published, FabricSpecimens,
    testing::Values(FabricSpecimen{"fabric/ibnetdiscover-faked-hdr.txt",
                                   "10 hosts, 10 cards, 8 switches, 7 links between them", 10},
                    FabricSpecimen{"fabric/slurm-topology-1.conf",
                                   "10000 hosts, 529 switches, 528 links between them", 500},
                    FabricSpecimen{"fabric/slurm-topology-4-two-roots.conf",
                                   "400 hosts, 22 switches, 20 links between them", 200},
                    FabricSpecimen{"fabric/slurm-topology-oci-sim-tree.conf",
                                   "96 hosts, 19 switches, 18 links between them", 96}),
    [](const auto& parameter) {
      std::string name = fs::path(parameter.param.file).stem().string();
      std::replace_if(
          name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
      return name;
    });

struct Refused {
  std::string file, message;
  unsigned line{};
};
void PrintTo(const Refused& refused, std::ostream* out) { *out << refused.file; }

class RefusedSpecimens : public testing::TestWithParam<Refused> {};

TEST_P(RefusedSpecimens, SayWhatIsMissing) {
  const fs::path file = specimens() / GetParam().file;
  if (!fs::exists(file)) GTEST_SKIP() << "no " << file;
  const Diagnostic fault = fault_in(read_file(file));
  EXPECT_THAT(fault.message, testing::HasSubstr(GetParam().message));
  EXPECT_EQ(fault.place.line, GetParam().line);
  EXPECT_FALSE(fault.hint.empty());
}

INSTANTIATE_TEST_SUITE_P(Published, RefusedSpecimens,
                         testing::Values(Refused{"nvidia-smi-topo/dgx-a100-4numa-12nic-CUT.txt",
                                                 "the rows of GPU4, GPU5, GPU6, GPU7, NIC0", 2},
                                         Refused{"nvidia-smi-topo/dgx2-16gpu-nv6-CUT.txt",
                                                 "GPU14, GPU15, mlx5_0", 2},
                                         Refused{"nccl-topo-xml/aws-g5-48xl-topo.xml", "no class", 14},
                                         Refused{"fabric/ibdev2netdev-h100-mixed.txt", "ibdev2netdev", 2},
                                         Refused{"fabric/ibstat-roce-cx7-dual-CUT.txt", "ibstat", 2},
                                         Refused{"fabric/ibstat-superbench.txt", "port GUIDs", 1},
                                         Refused{"fabric/slurm-topology-block.conf", "block plugin", 1},
                                         Refused{"fabric/topograph-slinky-dra-block.conf", "block plugin", 2},
                                         Refused{"fabric/topograph-nvl72-model.yaml", "topograph", 20}),
                         [](const auto& parameter) {
                           std::string name = fs::path(parameter.param.file).stem().string();
                           std::replace_if(
                               name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; },
                               '_');
                           return name;
                         });

}  // namespace
}  // namespace stepcast
