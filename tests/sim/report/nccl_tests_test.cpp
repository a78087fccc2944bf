#include "sim/report/nccl_tests.hpp"

#include <gtest/gtest.h>

#include "sim/report/collective_fit.hpp"
#include "sim/report/collective_interval.hpp"
#include "sim/report/collective_table.hpp"

namespace stepcast {
namespace {

TEST(NcclTests, SizesAreWrittenInPowersOf1024) {
  EXPECT_EQ(parse_nccl_tests_size("8"), Bytes(8));
  EXPECT_EQ(parse_nccl_tests_size("64K"), kibibytes(64));
  EXPECT_EQ(parse_nccl_tests_size("1m"), mebibytes(1));
  EXPECT_EQ(parse_nccl_tests_size("8G"), gibibytes(8));
  EXPECT_EQ(parse_nccl_tests_size("2 MiB"), mebibytes(2));
  EXPECT_EQ(parse_nccl_tests_size("1.5K"), Bytes(1536));
  for (const char* text : {"", "0", "-8", "8X", "K", "8KK", "nan", "inf", "0.3"})
    EXPECT_EQ(parse_nccl_tests_size(text), std::nullopt) << text;
}

TEST(NcclTests, NamesGoBothWays) {
  for (const Operation operation : nccl_tests_operations()) {
    EXPECT_EQ(operation_named(nccl_tests_name(operation)), operation);
    EXPECT_EQ(operation_named(name_of(operation)), operation);
    EXPECT_EQ(operation_named("/opt/nccl-tests/build/" + std::string(nccl_tests_name(operation)) + "_perf"),
              operation);
  }
  EXPECT_EQ(operation_named("gather"), std::nullopt);
}

// 1000 B for 16 ranks of four bytes: 15 x 64.
TEST(NcclTests, SizesAreWholeElementsForEachRank) {
  EXPECT_EQ(nccl_tests_size(Operation::all_gather, Bytes(1000), 16, 4), Bytes(960));
  EXPECT_EQ(nccl_tests_size(Operation::all_reduce, Bytes(1000), 16, 4), Bytes(1000));
}

TEST(NcclTests, CellsHaveTheDigitsOfNcclTests) {
  EXPECT_EQ(nccl_tests_time(microseconds(13.376)), "13.38");
  EXPECT_EQ(nccl_tests_time(microseconds(137.24)), "137.2");
  EXPECT_EQ(nccl_tests_time(microseconds(1731.94)), "1731.9");
  EXPECT_EQ(nccl_tests_time(microseconds(104730.4)), "104730");
}

TEST(SizeSweep, RepeatsAreLeftOut) {
  const std::vector<Bytes> sizes = sweep_sizes({Bytes(8), Bytes(300), 2, {}}, Operation::all_gather, 16);
  EXPECT_EQ(sizes, (std::vector<Bytes>{Bytes(64), Bytes(128), Bytes(256)}));
}

MeasuredTimes sweep(double first, double last) {
  MeasuredTimes times;
  for (double bytes = first; bytes <= last; bytes *= 2) times.emplace_back(Bytes(bytes), microseconds(1));
  return times;
}

TEST(FiveSizes, AreTheFixedOnesWhereTheSweepIsLongEnough) {
  std::vector<Bytes> sizes;
  for (const auto& [size, time] : five_sizes(sweep(8, 8589934592.0))) sizes.push_back(size);
  EXPECT_EQ(sizes,
            (std::vector<Bytes>{kibibytes(1), kibibytes(64), mebibytes(1), mebibytes(16), gibibytes(1)}));
}

// 8 MiB to 8 GiB are 2^23 to 2^33: every 2.5 powers; the nearer one of two is taken, the smaller one at a
// tie.
TEST(FiveSizes, AreSpreadEvenlyOverAShortSweep) {
  const MeasuredTimes points = five_sizes(sweep(8388608, 8589934592.0));
  ASSERT_EQ(points.size(), 5u);
  EXPECT_EQ(points.front().first, mebibytes(8));
  EXPECT_EQ(points[2].first, mebibytes(256));
  EXPECT_EQ(points.back().first, gibibytes(8));
}

TEST(FiveSizes, AreAllWhereThereAreNoMore) { EXPECT_EQ(five_sizes(sweep(1024, 4096)).size(), 3u); }

TEST(CollectiveBands, CoverAllSizesInOrder) {
  const auto bands = collective_bands();
  for (std::size_t i = 1; i < bands.size(); ++i) EXPECT_GT(bands[i].below, bands[i - 1].below);
  EXPECT_EQ(collective_band(Bytes(8)).name, "< 64 KiB");
  EXPECT_EQ(collective_band(kibibytes(64)).name, "64 KiB-1 MiB");
  EXPECT_EQ(collective_band(gibibytes(16)).name, ">= 128 MiB");
  for (const SizeBand& band : bands) {
    EXPECT_LE(band.low, 1);
    EXPECT_GE(band.high, 1);
    // Five measured sizes narrow the interval.
    EXPECT_GT(band.corrected_low / band.corrected_high, band.low / band.high) << band.name;
  }
}

}  // namespace
}  // namespace stepcast
