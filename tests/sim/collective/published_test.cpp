// The model against published nccl-tests tables, where the measurements are present. What is judged is the
// model with the shipped presets and profiles; nothing here is fitted. Errors are exp(|ln(predicted /
// measured)|) - 1.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "tests/sim/collective/clusters.hpp"

namespace stepcast {
namespace {

using namespace test;

struct Published {
  const char* set;
  const char* node;
  int nodes, gpus_per_node;
  const char* fabric;
  int nics_per_node;  ///< 0: the preset's
  enum class Run { plain, one_process, python, virtual_machine, tuned_sockets } run{Run::plain};
};

// How a table was taken adds time that is not the collective's (pathfinder section 4, class figures): a
// process that drives several GPUs 3.2 us for each further one, a harness in Python 33 us a call, a virtual
// machine 11 us a step.
constexpr double one_process_us_per_gpu = 3.2, python_us = 33, virtual_machine_us = 11;

// Sets whose hardware is stated and has presets. Left out: pathologies, old plugins, forced settings, SHARP,
// unknown networks.
constexpr std::array published_sets{
    Published{"sb_a100_8_allreduce", "dgx-a100-40g", 1, 8, "infiniband-200g", 0, Published::Run::one_process},
    Published{"sb_a100_8_allgather", "dgx-a100-40g", 1, 8, "infiniband-200g", 0, Published::Run::one_process},
    Published{"sb_a100_8_reducescatter", "dgx-a100-40g", 1, 8, "infiniband-200g", 0,
              Published::Run::one_process},
    Published{"sb_a100_8_broadcast", "dgx-a100-40g", 1, 8, "infiniband-200g", 0, Published::Run::one_process},
    Published{"thanos_8xa100_ar_mpi", "dgx-a100-80g", 1, 8, "infiniband-200g", 0},
    Published{"gcm_1xa100_ar", "dgx-a100-80g", 1, 8, "infiniband-200g", 0},
    Published{"aws_1xp5_h100_ar", "hgx-h100", 1, 8, "efa-400g", 0},
    Published{"stas_1xb200_ar", "hgx-b200", 1, 8, "efa-400g", 0, Published::Run::python},
    Published{"crusoe_2xh100_ib_ar", "hgx-h100", 2, 8, "infiniband-400g", 0, Published::Run::virtual_machine},
    Published{"oci_2xh100_ar_nccl2234", "hgx-h100", 2, 8, "roce-400g", 0},
    Published{"dgx_2n_2xh100_ib_ar", "hgx-h100", 2, 2, "infiniband-400g", 0},
    Published{"aws_2xp5_h100_efa_ar", "hgx-h100", 2, 8, "efa-400g", 0},
    Published{"eksbp_2xp5_h100_efa_ar", "hgx-h100", 2, 8, "efa-400g", 0},
    Published{"az_ndmv4_2xa100_aks_ar", "dgx-a100-80g", 2, 8, "infiniband-200g", 8,
              Published::Run::virtual_machine},
    Published{"oci_2xa100_roce_ar", "dgx-a100-40g", 2, 8, "roce-200g", 8},
    Published{"aws_2xp4de_a100_efa_ar", "dgx-a100-80g", 2, 8, "efa-100g", 4},
    Published{"dstack_gcp_a4_2xb200_roce_ar", "hgx-b200", 2, 8, "roce-400g", 0},
    Published{"gke_a4_2xb200_roce_ag", "hgx-b200", 2, 8, "roce-400g", 0},
    Published{"stas_4xb200_efa_ar", "hgx-b200", 4, 8, "efa-400g", 0, Published::Run::python},
    Published{"koord_2n_25g_roce_ar", "pcie-a10", 2, 1, "roce-25g", 1},
    Published{"rtx3090_2x1_roce_mtu1024_ar", "pcie-rtx-4090", 2, 1, "roce-100g", 1},
    Published{"gcp_a3_2x8_h100_tcp_ar", "hgx-h100", 2, 8, "ethernet-200g", 1, Published::Run::tuned_sockets},
    Published{"issue209_gcp32g_2x1_tcp", "dgx-1-v100-16g", 2, 1, "ethernet-32g", 1},
    Published{"issue209_gcp32g_4x1_tcp", "dgx-1-v100-16g", 4, 1, "ethernet-32g", 1},
    Published{"issue209_gcp32g_2x8_tcp", "dgx-1-v100-16g", 2, 8, "ethernet-32g", 1},
};

struct Row {
  std::string operation;
  double log_time_sum{};
  int count{};
};

/// Sizes of each set, in place and out of place averaged (geometric mean).
std::map<std::string, std::map<double, Row>> read_rows(const std::filesystem::path& file) {
  std::ifstream input(file);
  std::string line;
  std::getline(input, line);
  std::map<std::string, std::map<double, Row>> sets;
  while (std::getline(input, line)) {
    std::vector<std::string> fields(1);
    bool quoted = false;
    for (const char c : line) {
      if (c == '"')
        quoted = !quoted;
      else if (c == ',' && !quoted)
        fields.emplace_back();
      else
        fields.back() += c;
    }
    if (fields.size() < 20 || fields[15].empty() || fields[16].empty()) continue;
    Row& row = sets[fields[0]][std::stod(fields[15])];
    row.operation = fields[13];
    row.log_time_sum += std::log(std::stod(fields[16]) * 1e-6);
    ++row.count;
  }
  return sets;
}

Operation operation_named(const std::string& name) {
  for (const auto operation :
       {Operation::all_gather, Operation::reduce_scatter, Operation::broadcast, Operation::all_to_all})
    if (name == name_of(operation)) return operation;
  return Operation::all_reduce;
}

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
}

constexpr std::array<double, 4> band_ends{65536, 1048576, 16777216, 134217728};
constexpr std::array<const char*, 5> band_names{"< 64 KiB", "64 KiB-1 MiB", "1-16 MiB", "16-128 MiB",
                                                ">= 128 MiB"};

TEST(PublishedCollectives, AreMetWithinTheErrorThatTopologyAloneAllows) {
  const std::filesystem::path file(STEPCAST_SOURCE_DIR "/../shared/data/comm/collectives.csv");
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "no measurements at " << file;
  const auto rows = read_rows(file);
  std::array<std::vector<double>, 5> errors;
  std::vector<double> large;
  for (const auto& set : published_sets) {
    const auto found = rows.find(set.set);
    ASSERT_NE(found, rows.end()) << set.set;
    ClusterRequest request = request_of(set.node, set.nodes, set.fabric, set.gpus_per_node);
    if (set.nics_per_node > 0) request.fabric.nics_per_node = set.nics_per_node;
    using Run = Published::Run;
    if (set.run == Run::virtual_machine) request.fabric.link_latency += microseconds(virtual_machine_us);
    // NCCL opens more sockets by itself on this cloud's cards.
    if (set.run == Run::tuned_sockets) request.fabric.sockets_untuned = request.fabric.sockets_tuned;
    const double harness = set.run == Run::python ? python_us * 1e-6
                           : set.run == Run::one_process
                               ? one_process_us_per_gpu * 1e-6 * (set.gpus_per_node - 1)
                               : 0;
    const auto cluster = cluster_of(request);
    const CollectiveModel model(
        cluster, load_profile(request.node.gpu, request.node.name, "pytorch-compiled", {}, {}));
    std::array<std::vector<double>, 5> ratios;
    for (const auto& [bytes, row] : found->second) {
      if (bytes > 2147483648.0) continue;  // no training run sends more in one call
      const auto plan = model.plan(operation_named(row.operation), Bytes(bytes), {all_of(*cluster)});
      const double ratio = std::log(plan.time_alone.value + harness) - row.log_time_sum / row.count;
      const auto band = static_cast<std::size_t>(std::upper_bound(band_ends.begin(), band_ends.end(), bytes) -
                                                 band_ends.begin());
      ratios[band].push_back(std::exp(ratio));
      errors[band].push_back(std::expm1(std::abs(ratio)));
      if (bytes >= 16777216) large.push_back(std::expm1(std::abs(ratio)));
      if (std::getenv("STEPCAST_PRINT_ROWS"))
        std::printf("  %12.0f %10.1f us %10.1f us  %.2f  %s %s\n", bytes, plan.time_alone.value * 1e6,
                    std::exp(row.log_time_sum / row.count) * 1e6, std::exp(ratio),
                    std::string(name_of(plan.algorithm)).c_str(),
                    std::string(name_of(plan.protocol)).c_str());
    }
    std::printf("%-30s", set.set);
    for (const auto& band : ratios)
      band.empty() ? std::printf("       -") : std::printf("  %6.2f", quantile(band, 0.5));
    std::printf("\n");
  }
  for (std::size_t band = 0; band < errors.size(); ++band)
    std::printf("%-14s %4zu sizes, median error %5.1f %%, p90 %5.1f %%\n", band_names[band],
                errors[band].size(), 100 * quantile(errors[band], 0.5), 100 * quantile(errors[band], 0.9));
  // Scatter between equal machines is 1-9 % here (pathfinder section 2); the quick model reached 5-13 %.
  EXPECT_LT(quantile(large, 0.5), 0.20);
  // Below, equal machines differ by up to a factor of two, so that the bound is only against gross mistakes.
  for (std::size_t band = 0; band < 3; ++band)
    EXPECT_LT(quantile(errors[band], 0.5), 0.60) << band_names[band];
}

}  // namespace
}  // namespace stepcast
