#include "sim/training/buckets.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>

namespace stepcast {
namespace {

std::vector<BucketItem> items(std::initializer_list<double> sizes, int series = 0) {
  std::vector<BucketItem> result;
  for (const double size : sizes) result.push_back({size, series});
  return result;
}

std::vector<double> sizes_of(const std::vector<Bucket>& buckets) {
  std::vector<double> sizes;
  for (const Bucket& bucket : buckets) sizes.push_back(bucket.size);
  return sizes;
}

// Limits 1 then 25: 0.5 + 0.75 >= 1; 10 + 20 >= 25; 3 + 200 >= 25; 1 is left.
TEST(ReducerBuckets, I10_CloseWhenTheRunningSumReachesTheLimit) {
  EXPECT_EQ(sizes_of(reducer_buckets(items({0.5, 0.75, 10, 20, 3, 200, 1}), 1, 25)),
            (std::vector<double>{1.25, 30, 203, 1}));
}

TEST(ReducerBuckets, I9_HoldEveryParameterOnce) {
  const auto buckets = reducer_buckets(items({0.5, 0.75, 10, 20, 3, 200, 1}), 1, 25);
  std::vector<int> seen;
  double sum = 0;
  for (const Bucket& bucket : buckets) {
    seen.insert(seen.end(), bucket.items.begin(), bucket.items.end());
    sum += bucket.size;
  }
  EXPECT_EQ(seen, (std::vector<int>{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_DOUBLE_EQ(sum, 235.25);
}

// Series 1 is small-first too: 2 >= 1 closes, then 30 >= 25.
TEST(ReducerBuckets, EachDtypeHasASeriesWithItsOwnSmallFirstBucket) {
  const auto buckets =
      reducer_buckets(std::vector<BucketItem>{{2, 0}, {2, 1}, {10, 0}, {30, 1}, {20, 0}}, 1, 25);
  EXPECT_EQ(sizes_of(buckets), (std::vector<double>{2, 2, 30, 30}));
  EXPECT_EQ(buckets[2].items, (std::vector<int>{3}));
  EXPECT_EQ(buckets[3].items, (std::vector<int>{2, 4}));
}

// 3 + 4 fit in 8, 5 would make 12; 20 is larger than the bucket and travels alone.
TEST(IpgBuckets, AreReducedBeforeTheItemThatWouldOverfillThem) {
  const auto buckets = ipg_buckets(std::vector<double>{3, 4, 5, 20, 1}, 8);
  EXPECT_EQ(sizes_of(buckets), (std::vector<double>{7, 5, 20, 1}));
  EXPECT_TRUE(buckets[2].alone);
  EXPECT_FALSE(buckets[0].alone);
}

// 100 -> starts at 128: 128 + 100 = 228, at least 200, padded to lcm(48, 128) = 384. Then 60 -> 384.
TEST(MegatronBuckets, I33_StartAtMultiplesOf64AndEndAtThoseOfTheLeastCommonMultiple) {
  const auto buckets = megatron_buckets(std::vector<double>{100, 100, 60}, 200, 48, true);
  EXPECT_EQ(sizes_of(buckets), (std::vector<double>{384, 384}));
}

TEST(MegatronBuckets, AreNotPaddedWithoutTheDistributedOptimizer) {
  const auto buckets =
      megatron_buckets(std::vector<double>{100, 100, 60}, std::numeric_limits<double>::infinity(), 48, false);
  EXPECT_EQ(sizes_of(buckets), (std::vector<double>{260}));
}

// Largest first: 9 -> rank 0, 7 -> 1, 6 -> 1 (13)? no: rank 2 is empty. 6 -> 2, 5 -> 2 (11), 4 -> 1 (11), 1
// -> 0.
TEST(GreedyPartition, GivesTheLargestLeftToTheRankThatHasLeast) {
  const std::vector<int> owner = greedy_partition(std::vector<double>{4, 9, 5, 7, 6, 1}, 3);
  EXPECT_EQ(owner, (std::vector<int>{1, 0, 2, 1, 2, 0}));
}

}  // namespace
}  // namespace stepcast
