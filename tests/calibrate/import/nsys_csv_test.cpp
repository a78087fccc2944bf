#include "calibrate/import/nsys_csv.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/diagnostic.hpp"
#include "base/document.hpp"

namespace stepcast {
namespace {

using testing::HasSubstr;

const std::string trace_head =
    "Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),DymSMem (MB),Bytes "
    "(MB),Throughput (MBps),SrcMemKd,DstMemKd,Device,Ctx,Strm,Name\n";

// 100 MB in 5 ms are 20 GB/s.
TEST(NsysCsv, ATraceHasKernelsAndCopies) {
  const TraceSummary summary = summarise_nsys(
      "Generating SQLite file x.sqlite\n\n" + trace_head +
          "1000,5000,101,160,1,1,256,1,1,32,0.000,0.000,,,,,NVIDIA A10G (0),1,7,\"ampere_sgemm(float *, "
          "int)\"\n"
          "9000,5000000,102,,,,,,,,,,100.000,20000.000,Pinned,Device,NVIDIA A10G (0),1,7,[CUDA memcpy "
          "Host-to-Device]\n",
      "x.csv");
  EXPECT_EQ(summary.gpu_profile, "a10g");
  EXPECT_NEAR(summary.whole.classes[static_cast<std::size_t>(KernelClass::gemm)].time.value, 5e-6, 1e-15);
  ASSERT_EQ(summary.copies.size(), 1u);
  EXPECT_EQ(summary.copies[0].kind, "Memcpy HtoD (Pinned -> Device)");
  EXPECT_NEAR(summary.copies[0].large_rate.value, 20e9, 1);
}

TEST(NsysCsv, SumsByKernelGoIntoClasses) {
  const TraceSummary summary = summarise_nsys(
      "Time (%),Total Time (ns),Instances,Avg (ns),Name\n75.0,3000,3,1000,volta_sgemm_128x64_nn\n"
      "25.0,1000,2,500,\"void add(float *, int)\"\n",
      "x.csv");
  EXPECT_EQ(summary.whole.classes[static_cast<std::size_t>(KernelClass::gemm)].count, 3);
  EXPECT_NEAR(summary.whole.duration.value, 4e-6, 1e-15);
  EXPECT_EQ(summary.kernels.at(1).name, "void add(float *, int)");
}

TEST(NsysCsv, FaultsNameLineAndColumn) {
  const auto fault = [](const std::string& text) {
    try {
      (void)summarise_nsys(text, "x.csv");
    } catch (const ScenarioError& error) {
      return render(error.diagnostics().front());
    }
    return std::string("no fault");
  };
  EXPECT_THAT(fault("hello\n"), HasSubstr("neither cuda_gpu_trace"));
  EXPECT_THAT(fault("note\nTotal Time (ns),Instances,Name\n1,2,a\n1e,2,b\n"),
              testing::AllOf(HasSubstr("x.csv:4:1"), HasSubstr("Total Time (ns)")));
  EXPECT_THAT(fault("Total Time (ns),Instances,Name\n"), HasSubstr("no kernels"));
}

TEST(NsysCsv, SpecimensAreReadWhole) {
  const std::filesystem::path folder(STEPCAST_SOURCE_DIR "/../shared/formats/nsys-csv");
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no tables";
  const auto read = [&](const char* file) { return summarise_nsys(read_file(folder / file), file); };
  const TraceSummary sums = read("cuda_gpu_kern_sum-a10g.csv");
  ASSERT_EQ(sums.kernels.size(), 1u);
  EXPECT_EQ(sums.kernels[0].name, "burn(float *, int, int)");
  EXPECT_EQ(sums.kernels[0].total.count, 5);
  EXPECT_NEAR(sums.whole.duration.value, 28918591e-9, 1e-15);
  const TraceSummary trace = read("cuda_gpu_trace-a10g.csv");
  EXPECT_EQ(trace.gpu, "NVIDIA A10G");
  EXPECT_EQ(trace.kernels.at(0).total.count, 2);
  EXPECT_NEAR(trace.whole.duration.value, 12000e-9, 1e-15);  // 1000 to 13000 ns
}

}  // namespace
}  // namespace stepcast
