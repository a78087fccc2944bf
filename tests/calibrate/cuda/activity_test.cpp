#include "calibrate/cuda/activity.hpp"

#include <gtest/gtest.h>

namespace stepcast {
namespace {

constexpr std::uint32_t compute = 7, other_stream = 13, main_thread = 100, cupti_thread = 200;

/// A record as CUPTI writes it, in the newest layout that the headers have.
template <class Record>
Record on_device(CUpti_ActivityKind kind, std::uint64_t start, std::uint64_t end, std::uint32_t stream,
                 std::uint32_t correlation) {
  Record record{};
  record.kind = kind;
  record.start = start;
  record.end = end;
  record.streamId = stream;
  record.correlationId = correlation;
  return record;
}

CUpti_ActivityKernel9 kernel(std::uint64_t start, std::uint64_t end, std::uint32_t stream,
                             std::uint32_t correlation) {
  return on_device<CUpti_ActivityKernel9>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, start, end, stream,
                                          correlation);
}

CUpti_ActivityAPI call(CUpti_ActivityKind kind, std::uint64_t start, std::uint64_t end,
                       std::uint32_t correlation) {
  CUpti_ActivityAPI record{};
  record.kind = kind;
  record.start = start;
  record.end = end;
  record.threadId = main_thread;
  record.correlationId = correlation;
  return record;
}

CUpti_ActivityOverhead overhead(std::uint64_t start, std::uint64_t end, std::uint32_t thread) {
  CUpti_ActivityOverhead record{};
  record.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
  record.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
  record.objectId.pt.threadId = thread;
  record.start = start;
  record.end = end;
  return record;
}

template <class... Record>
Activity activity_of(const Record&... records) {
  Activity activity;
  (activity.add(reinterpret_cast<const CUpti_Activity&>(records)), ...);
  return activity;
}

TEST(Activity, TimeIsFromTheFirstStartToTheLastEndAndBusyTheSumOfOwnTimes) {
  // 1000 to 1400 and 1500 to 2000 ns, in any order: 1000 ns in all, 900 of them busy.
  const Sample sample =
      summarize(activity_of(kernel(1500, 2000, compute, 2), kernel(1000, 1400, compute, 1)), compute, 0);
  EXPECT_DOUBLE_EQ(sample.time.value, 1000e-9);
  EXPECT_DOUBLE_EQ(sample.busy.value, 900e-9);
  EXPECT_EQ(sample.kernels, 2);
}

TEST(Activity, CopiesAndFillsCountAndOtherStreamsDoNot) {
  const auto copy = on_device<CUpti_ActivityMemcpy5>(CUPTI_ACTIVITY_KIND_MEMCPY, 100, 300, compute, 1);
  const auto fill = on_device<CUpti_ActivityMemset4>(CUPTI_ACTIVITY_KIND_MEMSET, 300, 350, compute, 2);
  const Sample sample = summarize(activity_of(copy, fill, kernel(0, 9000, other_stream, 3)), compute, 0);
  EXPECT_DOUBLE_EQ(sample.time.value, 250e-9);
  EXPECT_DOUBLE_EQ(sample.busy.value, 250e-9);
  EXPECT_EQ(sample.kernels, 2);
}

TEST(Activity, LaunchCostIsTheTimeOfTheCallsThatLaunchedTheStreamsWork) {
  // Two launches of 4000 and 5000 ns; the call of correlation 9 launched nothing on the stream.
  const Sample sample =
      summarize(activity_of(call(CUPTI_ACTIVITY_KIND_RUNTIME, 0, 4000, 1),
                            call(CUPTI_ACTIVITY_KIND_DRIVER, 5000, 10000, 2),
                            call(CUPTI_ACTIVITY_KIND_RUNTIME, 10000, 90000, 9),
                            kernel(6000, 7000, compute, 1), kernel(11000, 12000, compute, 2)),
                compute, 0);
  EXPECT_DOUBLE_EQ(sample.host.value, 9000e-9);
}

TEST(Activity, ADriverCallInsideARuntimeCallCountsOnce) {
  const Sample sample =
      summarize(activity_of(call(CUPTI_ACTIVITY_KIND_DRIVER, 1000, 3000, 1),
                            call(CUPTI_ACTIVITY_KIND_RUNTIME, 500, 4500, 1), kernel(6000, 7000, compute, 1)),
                compute, 0);
  EXPECT_DOUBLE_EQ(sample.host.value, 4000e-9);
}

TEST(Activity, TimeThatTheProfilerTookInsideACallIsNotLaunchCost) {
  // The call takes 5000 ns. Of the overhead from 3000 to 6000 in its thread 2000 ns fall into it; that of
  // another thread does not count.
  const Sample sample =
      summarize(activity_of(call(CUPTI_ACTIVITY_KIND_RUNTIME, 0, 5000, 1), overhead(3000, 6000, main_thread),
                            overhead(0, 1000, cupti_thread), kernel(6000, 7000, compute, 1)),
                compute, 0);
  EXPECT_DOUBLE_EQ(sample.host.value, 3000e-9);
}

TEST(Activity, KernelsWithoutTimesAreNotCounted) {
  // CUPTI writes start and end 0 where it could not collect them.
  const Sample sample = summarize(activity_of(kernel(0, 0, compute, 1)), compute, 0);
  EXPECT_EQ(sample.kernels, 0);
  EXPECT_EQ(sample.time, Seconds(0));
}

TEST(Activity, WhatWasLaunchedBeforeTheMeasurementDoesNotCountEvenIfItRanLater) {
  const Activity activity =
      activity_of(call(CUPTI_ACTIVITY_KIND_RUNTIME, 0, 4000, 1), kernel(9000, 9500, compute, 1),
                  call(CUPTI_ACTIVITY_KIND_RUNTIME, 8500, 8900, 2), kernel(10000, 10200, compute, 2),
                  kernel(7000, 7100, compute, 3));
  const Sample sample = summarize(activity, compute, 8000);
  EXPECT_EQ(sample.kernels, 1);
  EXPECT_DOUBLE_EQ(sample.time.value, 200e-9);
  EXPECT_DOUBLE_EQ(sample.host.value, 400e-9);
}

TEST(Activity, ACopyIsJoinedToTheRuntimeCallThatMadeIt) {
  auto copy = on_device<CUpti_ActivityMemcpy5>(CUPTI_ACTIVITY_KIND_MEMCPY, 5000, 6000, compute, 40);
  copy.runtimeCorrelationId = 4;
  const Sample sample =
      summarize(activity_of(call(CUPTI_ACTIVITY_KIND_RUNTIME, 1000, 3000, 4), copy), compute, 0);
  EXPECT_DOUBLE_EQ(sample.host.value, 2000e-9);
}

}  // namespace
}  // namespace stepcast
