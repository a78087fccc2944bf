#include <gtest/gtest.h>

#include "sim/cost/cost.hpp"

namespace stepcast {
namespace {

// I38 of the facts: 109 blocks need a second wave on 108 SMs, 132 on 132 do not, 132 on 132 - 24 do; 264
// blocks take 2 waves on 132 SMs and 3 on 108.
TEST(WaveCount, FollowsTheGoldenCountsOfInvariantI38) {
  EXPECT_EQ(wave_count(109, 1, 108, 0), 2);
  EXPECT_EQ(wave_count(132, 1, 132, 0), 1);
  EXPECT_EQ(wave_count(132, 1, 132, 24), 2);
  EXPECT_EQ(wave_count(264, 1, 132, 0), 2);
  EXPECT_EQ(wave_count(264, 1, 132, 24), 3);
}

TEST(WaveCount, KeepsOneSmWhenMoreAreReservedThanThereAre) { EXPECT_EQ(wave_count(10, 1, 8, 64), 10); }

Work one_kernel(double blocks) {
  Kernel kernel;
  kernel.time = Seconds(110e-6);
  kernel.fixed = Seconds(10e-6);
  kernel.blocks = blocks;
  Work work;
  work.kernels = {kernel};
  return work;
}

// One wave of 100 us and 10 us fixed: with 24 SMs taken, 132 blocks run in two waves, 210 us.
TEST(Work, ReservedSmsAddWavesButNotFixedTime) {
  EXPECT_DOUBLE_EQ(one_kernel(132).duration(132, 24).value, 210e-6);
}

// 100 blocks fit on 108 SMs as they do on 132.
TEST(Work, ReservedSmsCostNothingWhileTheWaveStillFits) {
  EXPECT_DOUBLE_EQ(one_kernel(100).duration(132, 24).value, 110e-6);
}

TEST(Work, KernelsWithoutBlocksIgnoreReservedSms) {
  EXPECT_DOUBLE_EQ(one_kernel(0).duration(132, 100).value, 110e-6);
}

// A memory-bound product: 40 us of waves under 110 us. Two waves are 80 + 10 = 90 us, still below the
// memory's 110.
TEST(Work, MemoryLimitHidesAddedWaves) {
  Work work = one_kernel(132);
  work.kernels[0].wave = Seconds(40e-6);
  EXPECT_DOUBLE_EQ(work.duration(132, 24).value, 110e-6);
}

TEST(Work, CountsEqualKernelsSeparately) {
  Work work = one_kernel(132);
  work.kernels[0].count = 3;
  work.kernels[0].flops = Flop(2e9);
  work.kernels[0].memory_share = 0.5;
  work.append(one_kernel(132));
  EXPECT_EQ(work.kernel_count(), 4);
  EXPECT_DOUBLE_EQ(work.flops().value, 6e9);
  EXPECT_DOUBLE_EQ(work.duration(132, 0).value, 440e-6);
  EXPECT_DOUBLE_EQ(work.memory_time().value, 165e-6);
}

}  // namespace
}  // namespace stepcast
