#include "sim/training/fetch_trace.hpp"

#include <gtest/gtest.h>

namespace stepcast {
namespace {

/// Forward through `count` modules of one parameter each, then back.
std::vector<TracedUse> there_and_back(int count) {
  std::vector<TracedUse> uses;
  for (int i = 0; i < count; ++i) uses.push_back({{i}});
  for (int i = count; i-- > 0;) uses.push_back({{i}});
  return uses;
}

double gathered(const FetchTrace& trace) {
  double sum = 0;
  for (const FetchCall& call : trace.calls) sum += call.elements;
  return sum;
}

// 10 modules of 1e7: 2 Psi = 2e8 <= 1e9, so that backward finds everything.
TEST(FetchTrace, I20_NothingIsGatheredInBackwardWithinTheReuseDistance) {
  const FetchTrace trace = trace_fetches(there_and_back(10), std::vector<double>(10, 1e7), {});
  EXPECT_DOUBLE_EQ(gathered(trace), 1e8);
  EXPECT_DOUBLE_EQ(trace.peak_live, 1e8);
}

// Distance 4.5e7 in modules of 1e7. After its forward, module i meets 2 (9 - i) modules before it is used
// again: kept when 2 (9 - i) 1e7 < 4.5e7, i.e. for the last three (i = 7, 8, 9). The other seven are gathered
// again: 17 in all.
TEST(FetchTrace, OnlyTheLastModulesStayForBackwardWhenTheDistanceIsShort) {
  FetchSettings settings;
  settings.max_reuse_distance = 4.5e7;
  const FetchTrace trace = trace_fetches(there_and_back(10), std::vector<double>(10, 1e7), settings);
  EXPECT_DOUBLE_EQ(gathered(trace), 17e7);
}

TEST(FetchTrace, I24_PersistentParametersAreExactlyThoseUpToTheThresholdAndInNoCall) {
  const std::vector<double> elements{1e5, 1e5 + 1, 10};
  const FetchTrace trace = trace_fetches(there_and_back(3), elements, {});
  ASSERT_EQ(trace.calls.size(), 1U);
  EXPECT_EQ(trace.calls[0].parameters, (std::vector<int>{1}));
}

// The first module is gathered when it is met; then up to 5e7 elements of what follows: five modules of 1e7.
TEST(FetchTrace, PrefetchGathersSeveralModulesInOneCallUpToItsBucket) {
  const FetchTrace trace = trace_fetches(there_and_back(10), std::vector<double>(10, 1e7), {});
  EXPECT_EQ(trace.calls[0].parameters, (std::vector<int>{0}));
  EXPECT_EQ(trace.steps[0].fetch, 0);
  EXPECT_EQ(trace.steps[0].prefetch, 1);
  EXPECT_EQ(trace.calls[1].parameters, (std::vector<int>{1, 2, 3, 4, 5}));
  EXPECT_EQ(trace.steps[1].fetch, -1);
  EXPECT_EQ(trace.steps[1].awaited, 1);
  EXPECT_EQ(trace.steps[2].awaited, -1) << "waiting for one parameter of a call waits for the call";
}

// With room for 3e7 elements, prefetching stops at three modules in flight or gathered. Without any reuse
// distance even the last module is released between its forward and its backward: 20 gathers.
TEST(FetchTrace, MaxLiveThrottlesPrefetchOnly) {
  FetchSettings settings;
  settings.max_live = 3e7;
  settings.max_reuse_distance = 0;
  const FetchTrace trace = trace_fetches(there_and_back(10), std::vector<double>(10, 1e7), settings);
  EXPECT_DOUBLE_EQ(trace.peak_live, 3e7);
  EXPECT_DOUBLE_EQ(gathered(trace), 20e7);
}

}  // namespace
}  // namespace stepcast
