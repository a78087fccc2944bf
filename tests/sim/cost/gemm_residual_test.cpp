// What the tile model misses on published products. The bounds are those that docs/cost.md states, with a
// little room, so that a profile cannot be changed without its table.
#include <gtest/gtest.h>

#include "csv_rows.hpp"
#include "residual.hpp"
#include "shipped.hpp"
#include "sim/cost/gemm.hpp"
#include "sim/cost/products.hpp"

namespace stepcast {
namespace {

const char* const table = STEPCAST_SOURCE_DIR "/../shared/data/compute/gemm.csv";

/// Seconds of rows x columns x depth in `type`, operands of its size and results of `result_size` bytes.
double predicted(const GpuProfile& gpu, Dtype type, double rows, double columns, double depth, double groups,
                 double result_size) {
  const double operand = element_size(type);
  const double moved = groups * (operand * (rows * depth + depth * columns) + result_size * rows * columns);
  const GemmShape shape{rows, static_cast<std::int64_t>(columns), static_cast<std::int64_t>(depth),
                        static_cast<std::int64_t>(groups)};
  return gemm_time(gpu, gemm_units(gpu, type), gemm_rate(gpu, type, true), shape, Bytes(moved)).value;
}

double measured(double rows, double columns, double depth, double groups, double tflops) {
  return 2 * rows * columns * depth * groups / (tflops * 1e12);
}

struct Best {
  const char* gpu;
  Dtype type;
  double m, n, k, tflops;
};

// Best shapes of two searches (stas00/ml-engineering @744d01e, mag-/gpu_benchmark @93322b7) and cuBLAS rows
// of pranjalssh/fast.cu @38eb642. A ceiling is one number for two or three such rows, so it can miss each a
// little.
TEST(GemmResidual, BestShapesComeOutWithinTheSpreadOfTheirCeilings) {
  Residual residual;
  for (const Best& row : {Best{"a100-sxm-80g", Dtype::bf16, 1024, 10240, 5120, 271.2},
                          Best{"a100-sxm-80g", Dtype::bf16, 6912, 16384, 2048, 267.9},
                          Best{"a100-pcie-80g", Dtype::bf16, 2048, 5120, 6144, 252.9},
                          Best{"a100-pcie-80g", Dtype::bf16, 2304, 5120, 1536, 256.4},
                          Best{"h100-sxm", Dtype::bf16, 2048, 2048, 13312, 794.5},
                          Best{"h100-sxm", Dtype::bf16, 6144, 17920, 2816, 821.2},
                          Best{"h100-sxm", Dtype::bf16, 8192, 8192, 8192, 795},
                          Best{"h100-sxm", Dtype::bf16, 4096, 4096, 4096, 716},
                          Best{"h100-sxm", Dtype::fp8, 1024, 9216, 14336, 1402.6},
                          Best{"h200-sxm", Dtype::fp8, 1280, 4096, 12032, 1453.4},
                          Best{"h100-pcie", Dtype::bf16, 6912, 16384, 2048, 499.5},
                          Best{"gh200", Dtype::bf16, 7616, 17664, 4480, 852.5},
                          Best{"b200-sxm", Dtype::bf16, 1792, 16128, 3072, 1745},
                          Best{"b200-sxm", Dtype::fp8, 15360, 4096, 3072, 3432.5},
                          Best{"gb200", Dtype::bf16, 4096, 9728, 2048, 1822},
                          Best{"l40s", Dtype::bf16, 4416, 3776, 3072, 252},
                          Best{"l4", Dtype::bf16, 1024, 6016, 1792, 91.4},
                          Best{"rtx-4090", Dtype::bf16, 14336, 4096, 4096, 178.8},
                          Best{"rtx-3090", Dtype::bf16, 5248, 15040, 1024, 78.0},
                          Best{"rtx-a6000", Dtype::bf16, 9856, 12480, 13248, 131.2}}) {
    const GpuProfile gpu = shipped(row.gpu).gpu;
    const double time = predicted(gpu, row.type, row.m, row.n, row.k, 1, 2);
    const double real = measured(row.m, row.n, row.k, 1, row.tflops);
    residual.add(time, real);
    EXPECT_NEAR(time / real, 1, 0.16) << row.gpu << " " << row.m << "x" << row.n << "x" << row.k;
  }
  residual.print("best shapes, 20 rows of 13 GPUs");
  EXPECT_LT(residual.median(), 0.035);
  EXPECT_LT(residual.p90(), 0.13);
}

// Five of the 43 fp16 and five of the 43 fp32 shapes that baidu-research/DeepBench @da81ba7 measured on a
// DGX-1.
TEST(GemmResidual, V100ShapesFromThinToLargeComeOutWithinFifteenPercent) {
  const GpuProfile gpu = shipped("v100-sxm2-16g").gpu;
  const auto check = [&](Dtype type, double features, double tokens, double depth, double tflops) {
    const double time = predicted(gpu, type, tokens, features, depth, 1, element_size(type));
    EXPECT_NEAR(time / measured(tokens, features, depth, 1, tflops), 1, 0.15) << features << " " << tokens;
  };
  check(Dtype::fp16, 1760, 16, 1760, 4.96);
  check(Dtype::fp16, 2048, 64, 2048, 20.65);
  check(Dtype::fp16, 2560, 128, 2560, 46.60);
  check(Dtype::fp16, 4096, 128, 4096, 64.10);
  check(Dtype::fp16, 4096, 7000, 4096, 112.28);
  check(Dtype::fp32, 1760, 16, 1760, 2.61);
  check(Dtype::fp32, 1760, 128, 1760, 9.01);
  check(Dtype::fp32, 2560, 64, 2560, 11.18);
  check(Dtype::fp32, 4096, 7000, 4096, 14.78);
  check(Dtype::fp32, 2048, 7000, 2048, 13.39);
}

TEST(GemmResidual, HoldsOnThePublishedTables) {
  const auto rows = csv_rows(table);
  if (rows.empty()) GTEST_SKIP() << "no table of published products beside the project";
  Residual half, single, fp8;
  const GpuProfile v100 = shipped("v100-sxm2-16g").gpu;
  const GpuProfile h100 = shipped("h100-sxm").gpu;
  for (auto row : rows) {
    const double k = std::stod(row["k"]), n = std::stod(row["n"]), tflops = std::stod(row["tflops"]);
    const double m = std::stod(row["m"]);
    const auto times = row["m"].find(" x ");
    const double groups = times == std::string::npos ? 1 : std::stod(row["m"].substr(times + 3));
    if (row["gpu"] == "V100 (DGX-1)") {
      // DeepBench multiplies (features x depth)(depth x tokens), so its n are our rows.
      const bool is_half = row["dtype"].find("fp16") == 0;
      const Dtype type = is_half ? Dtype::fp16 : Dtype::fp32;
      (is_half ? half : single)
          .add(predicted(v100, type, n, m, k, 1, element_size(type)), measured(m, n, k, 1, tflops));
    } else if (row["gpu"] == "H800 SXM") {
      fp8.add(predicted(h100, Dtype::fp8, m, n, k, groups, 2), measured(m, n, k, groups, tflops));
    }
  }
  half.print("V100 fp16, DeepBench");
  single.print("V100 fp32, DeepBench");
  fp8.print("H800 fp8, DeepGEMM");
  ASSERT_EQ(half.rows(), 43U);
  ASSERT_EQ(single.rows(), 43U);
  ASSERT_EQ(fp8.rows(), 28U);
  EXPECT_LT(half.median(), 0.05);
  EXPECT_LT(half.p90(), 0.12);
  EXPECT_LT(single.median(), 0.055);
  EXPECT_LT(single.p90(), 0.13);
  EXPECT_LT(fp8.median(), 0.12);
  EXPECT_LT(fp8.p90(), 0.36);
}

// The V100 ceilings are fitted, so moving one by 8 % either way must fit the table worse.
TEST(GemmResidual, V100CeilingsAreTheBestOnes) {
  const auto rows = csv_rows(table);
  if (rows.empty()) GTEST_SKIP() << "no table of published products beside the project";
  const auto loss_with = [&](Dtype type, double factor) {
    GpuProfile gpu = shipped("v100-sxm2-16g").gpu;
    gpu.gemm_ceiling.at(type).value *= factor;
    double loss = 0;
    for (auto row : rows) {
      if (row["gpu"] != "V100 (DGX-1)" || (row["dtype"].find("fp16") == 0) != (type == Dtype::fp16)) continue;
      const double m = std::stod(row["m"]), n = std::stod(row["n"]), k = std::stod(row["k"]);
      const double time = predicted(gpu, type, n, m, k, 1, element_size(type));
      loss += std::abs(std::log(time / measured(m, n, k, 1, std::stod(row["tflops"]))));
    }
    return loss;
  };
  for (const Dtype type : {Dtype::fp16, Dtype::fp32}) {
    EXPECT_GT(loss_with(type, 0.92), loss_with(type, 1));
    EXPECT_GT(loss_with(type, 1.08), loss_with(type, 1));
  }
}

}  // namespace
}  // namespace stepcast
