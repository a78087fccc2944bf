#include "sim/cost/gemm.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "shipped.hpp"
#include "sim/cost/products.hpp"

namespace stepcast {
namespace {

/// One tile of 128 x 128, no split depth, no latency: 108 SMs of 1 TFLOP/s each.
GpuProfile plain_gpu() {
  GpuProfile gpu;
  gpu.sms = 108;
  gpu.tiles = {{128, 128, 1.0}};
  gpu.memory_rate.value = gigabytes_per_second(1000);
  return gpu;
}

const FlopPerSecond one_teraflop_per_sm = teraflops(108);

// 108 blocks of 2 * 128 * 128 * 1000 = 32.768 MFLOP at 1 TFLOP/s an SM: one wave of 32.768 us.
TEST(GemmTiling, OneWaveTakesTheTimeOfOneBlock) {
  const GemmTiling tiling =
      best_tiling(plain_gpu(), GemmUnits::tensor, one_teraflop_per_sm, {128 * 108, 128, 1000, 1});
  EXPECT_DOUBLE_EQ(tiling.blocks, 108);
  EXPECT_DOUBLE_EQ(tiling.compute_time().value, 32.768e-6);
}

// I38: the 109th block costs a whole second wave.
TEST(GemmTiling, OneBlockMoreThanSmsCostsASecondWave) {
  const GemmTiling tiling =
      best_tiling(plain_gpu(), GemmUnits::tensor, one_teraflop_per_sm, {128 * 108 + 1, 128, 1000, 1});
  EXPECT_DOUBLE_EQ(tiling.blocks, 109);
  EXPECT_DOUBLE_EQ(tiling.waves, 2);
  EXPECT_DOUBLE_EQ(tiling.compute_time().value, 2 * 32.768e-6);
}

// One block alone leaves 107 SMs idle and takes 2 * 128 * 128 * 8192 FLOP at 1 TFLOP/s = 268.4 us. In 48
// slices: 268.4 / 48 = 5.59 us, plus 8 * 48 * 128 * 128 bytes at 1 TB/s = 6.29 us of reduction. (32
// slices: 8.39 + 4.19; 64: 4.19 + 8.39.)
TEST(GemmTiling, DeepThinProductsAreSplitAlongTheDepth) {
  GpuProfile gpu = plain_gpu();
  gpu.split_k_depth = 64;
  const GemmTiling tiling = best_tiling(gpu, GemmUnits::tensor, one_teraflop_per_sm, {128, 128, 8192, 1});
  EXPECT_DOUBLE_EQ(tiling.blocks, 48);
  EXPECT_NEAR(tiling.compute_time().value, 11.88e-6, 0.01e-6);
}

TEST(GemmTiling, RefusesEmptyProducts) {
  EXPECT_THROW((void)best_tiling(plain_gpu(), GemmUnits::tensor, one_teraflop_per_sm, {0, 128, 128, 1}),
               std::invalid_argument);
  EXPECT_THROW((void)best_tiling(plain_gpu(), GemmUnits::tensor, FlopPerSecond(0), {1, 128, 128, 1}),
               std::invalid_argument);
}

// I38: time is a non-decreasing staircase in the rows; likewise in columns and depth.
TEST(GemmTime, NeverFallsWhenADimensionGrows) {
  for (const char* name : {"v100-sxm2-16g", "a100-sxm-80g", "h100-sxm", "l4", "cpu-host"}) {
    const GpuProfile gpu = shipped(name).gpu;
    for (const GemmUnits units : {GemmUnits::tensor, GemmUnits::simt}) {
      Seconds before_rows, before_columns, before_depth;
      for (std::int64_t size = 1; size < 6000; size += 37) {
        const double n = static_cast<double>(size);
        const Seconds rows = gemm_time(gpu, units, teraflops(100), {n, 4096, 4096, 1}, Bytes(n));
        const Seconds columns = gemm_time(gpu, units, teraflops(100), {512, size, 4096, 1}, Bytes(n));
        const Seconds depth = gemm_time(gpu, units, teraflops(100), {512, 1024, size, 1}, Bytes(n));
        ASSERT_GE(rows, before_rows) << name << " rows " << size;
        ASSERT_GE(columns, before_columns) << name << " columns " << size;
        ASSERT_GE(depth, before_depth) << name << " depth " << size;
        before_rows = rows;
        before_columns = columns;
        before_depth = depth;
      }
    }
  }
}

// Two flat stretches with a step between them: 100 to 128 rows fill the same blocks of every tile of one more
// row.
TEST(GemmTime, IsAStaircaseInTheRows) {
  const GpuProfile gpu = plain_gpu();
  const auto time = [&](double rows) {
    return best_tiling(gpu, GemmUnits::tensor, one_teraflop_per_sm, {rows, 13824, 1000, 1}).compute_time();
  };
  EXPECT_EQ(time(1).value, time(128).value);
  EXPECT_LT(time(128).value, time(129).value);
  EXPECT_EQ(time(129).value, time(256).value);
}

// I39: no product is faster than its FLOPs at the achievable peak, nor than its bytes at the memory rate.
TEST(GemmTime, IsBoundedByAchievablePeakAndMemory) {
  const GpuProfile gpu = shipped("h100-sxm").gpu;
  const FlopPerSecond rate = gemm_rate(gpu, Dtype::bf16, true);
  for (const double rows : {16.0, 300.0, 4096.0, 20000.0}) {
    const Bytes moved(1e9);
    const Seconds time = gemm_time(gpu, GemmUnits::tensor, rate, {rows, 4096, 4096, 1}, moved);
    EXPECT_GE(time, Flop(2 * rows * 4096 * 4096) / rate);
    EXPECT_GE(time, moved / gpu.memory_rate.value);
  }
}

// 10922 is no multiple of 8: 16-byte loads are impossible. 272.7 / 398.4 = 0.68 (stas00/ml-engineering,
// H100).
TEST(GemmRate, MisalignedFeaturesLowerItOnTensorCoresOnly) {
  EXPECT_FALSE(is_aligned(10922, 4096, Dtype::bf16));
  EXPECT_TRUE(is_aligned(10944, 4096, Dtype::bf16));
  EXPECT_TRUE(is_aligned(10924, 4096, Dtype::fp32));
  const GpuProfile gpu = shipped("h100-sxm").gpu;
  EXPECT_NEAR(gemm_rate(gpu, Dtype::bf16, false).value / gemm_rate(gpu, Dtype::bf16, true).value, 0.68, 0.01);
  EXPECT_EQ(gemm_rate(gpu, Dtype::fp32, false).value, gemm_rate(gpu, Dtype::fp32, true).value);
}

// V100 has no bf16 units: products run in fp32, 15.7 against 125 TFLOP/s.
TEST(GemmRate, FallsBackToUnitsThatTheGpuHas) {
  const GpuProfile v100 = shipped("v100-sxm2-16g").gpu;
  EXPECT_EQ(effective_dtype(v100, Dtype::bf16), Dtype::fp32);
  EXPECT_EQ(gemm_rate(v100, Dtype::bf16, true).value, gemm_rate(v100, Dtype::fp32, true).value);
  const GpuProfile a100 = shipped("a100-sxm-80g").gpu;
  EXPECT_EQ(effective_dtype(a100, Dtype::fp8), Dtype::bf16);
  EXPECT_EQ(effective_dtype(shipped("h100-sxm").gpu, Dtype::fp8), Dtype::fp8);
}

}  // namespace
}  // namespace stepcast
