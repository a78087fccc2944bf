// Logs of real runs, where they are present.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/diagnostic.hpp"
#include "calibrate/import/nccl_tests_log.hpp"

namespace stepcast {
namespace {

struct Specimen {
  const char* file;
  std::optional<Operation>
      operation;  ///< nothing: two ranks, whose bandwidths are the same for two operations
  int ranks, hosts;
  std::size_t runs, sizes;
  double last_out_us, last_in_us;  ///< of the largest size; 0: not there
  const char* nccl;
};

constexpr auto all_reduce = Operation::all_reduce;

class Specimens : public testing::TestWithParam<Specimen> {
 public:
  static std::filesystem::path path(const char* file) {
    return std::filesystem::path(STEPCAST_SOURCE_DIR "/../shared/formats/nccl-tests") / file;
  }
};

TEST_P(Specimens, AreReadWhole) {
  const Specimen& expected = GetParam();
  if (!std::filesystem::exists(path(expected.file))) GTEST_SKIP() << "no log " << expected.file;
  const NcclTestsLog log = read_nccl_tests_log(path(expected.file).string());
  EXPECT_EQ(log.runs.size(), expected.runs);
  const NcclTestsRun& run = log.runs.front();
  EXPECT_EQ(run.operation, expected.operation);
  EXPECT_EQ(run.ranks, expected.ranks);
  EXPECT_EQ(run.hosts(), expected.hosts);
  EXPECT_EQ(run.nccl_version, expected.nccl);
  const auto rows = rows_by_size(log, expected.operation.value_or(all_reduce), expected.ranks);
  ASSERT_EQ(rows.size(), expected.sizes);
  const auto microseconds_of = [](const std::optional<NcclTestsTiming>& timing) {
    return timing ? timing->time.value * 1e6 : 0;
  };
  EXPECT_NEAR(microseconds_of(rows.back().out_of_place), expected.last_out_us,
              1e-6 * expected.last_out_us + 1e-9);
  EXPECT_NEAR(microseconds_of(rows.back().in_place), expected.last_in_us, 1e-6 * expected.last_in_us + 1e-9);
}

INSTANTIATE_TEST_SUITE_P(
    NcclTests, Specimens,
    testing::Values(
        Specimen{"a100pcie-nvlink-down-2gpu-info.log", all_reduce, 2, 1, 1, 11, 300866, 300304, "2.27.7"},
        Specimen{"a3high-tcpx-allgather.log", Operation::all_gather, 16, 0, 1, 10, 7098.6, 7054.3, ""},
        Specimen{"aws-p4d-mpirun-tag-info.log", all_reduce, 16, 2, 1, 30, 183834, 184216, "2.9.9"},
        Specimen{"aws-p4de-srun-label.log", all_reduce, 16, 0, 1, 29, 51406, 51406, ""},
        Specimen{"aws-p5-srun-label.log", all_reduce, 16, 0, 1, 32, 66132, 66109, ""},
        Specimen{"azure-ncv4-2.log", all_reduce, 4, 0, 1, 31, 456716, 457441, ""},
        Specimen{"azure-ncv4-1.log", all_reduce, 4, 0, 1, 31, 459314, 459949, ""},
        Specimen{"azure-ncv4-3.log", std::nullopt, 2, 0, 1, 31, 149286, 147984, ""},
        Specimen{"azure-ndmv4-aks-1.log", all_reduce, 16, 0, 1, 31, 85129, 85091, ""},
        Specimen{"coreweave-h100-64.log", all_reduce, 96, 0, 1, 5, 43980, 44094, ""},
        Specimen{"h100-a3mega-16ranks.log", all_reduce, 16, 2, 1, 31, 47535, 47743, ""},
        Specimen{"oci-a100-wide-columns.log", all_reduce, 16, 2, 1, 4, 84948.7, 84992.3, "2.29.3"},
        Specimen{"pcie-a100-8gpu-many-runs.log", all_reduce, 8, 1, 22, 22, 125896, 0, ""},
        Specimen{"rtx3090-2x1-roce-mtu1024.log", std::nullopt, 2, 2, 1, 27, 54959, 55029, ""},
        Specimen{"rtx3090-shell-session.log", all_reduce, 32, 4, 6, 2, 63.1651995, 0, ""},
        Specimen{"sb-allreduce-a100-1proc8gpu.log", all_reduce, 8, 1, 1, 32, 63896, 63959, ""},
        Specimen{"sb-reduce-a100.log", Operation::reduce, 8, 1, 1, 32, 37613, 37539, ""}),
    [](const auto& specimen) {
      std::string name = specimen.param.file;
      for (char& c : name)
        if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
      return name;
    });

// Built, started, and died before its first size.
TEST(NcclTestsSpecimens, ARunThatDiedIsAnError) {
  const auto file = Specimens::path("a6000-4gpu-build-and-info.log");
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "no log " << file;
  try {
    (void)read_nccl_tests_log(file.string());
    FAIL() << "rows out of nothing";
  } catch (const ScenarioError& error) {
    EXPECT_NE(error.diagnostics().front().message.find("has no rows"), std::string::npos)
        << error.diagnostics().front().message;
    EXPECT_EQ(error.diagnostics().front().place.line, 2232u);
  }
}

}  // namespace
}  // namespace stepcast
