#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <numeric>

#include "calibrate/backend.hpp"
#include "calibrate/host/host_device.hpp"
#include "calibrate/host/machine.hpp"
#include "calibrate/host/neighbours.hpp"
#include "calibrate/launch/lone_meeting.hpp"

namespace stepcast {
namespace {

HostDevice device_of(Bytes capacity) {
  DeviceFacts facts;
  facts.memory_capacity = capacity;
  return {facts, *host_kernels().front()};
}

TEST(HostDevice, MemoryIsZeroedAlignedAndCounted) {
  HostDevice device = device_of(mebibytes(64));
  auto small = device.allocate(1000);
  auto large = device.allocate(5'000'000);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(small.get()) % 64, 0U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(large.get()) % (2U << 20U), 0U);  // a huge page
  const char* const bytes = static_cast<const char*>(large.get());
  EXPECT_TRUE(std::all_of(bytes, bytes + 5'000'000, [](char byte) { return byte == 0; }));
  large.reset();
  large = device.allocate(100);
  EXPECT_EQ(device.take_peak_memory(), Bytes(5'001'000));
  EXPECT_EQ(device.take_peak_memory(), Bytes(1'100));  // what is in use now
}

TEST(HostDevice, RefusesWhatDoesNotFit) {
  HostDevice device = device_of(mebibytes(1));
  const auto half = device.allocate(600'000);
  try {
    static_cast<void>(device.allocate(500'000));
    ADD_FAILURE() << "1.1 MB in 1 MiB";
  } catch (const MachineError& error) {
    EXPECT_STREQ(error.what(),
                 "out of memory: 488 KiB more than the 586 KiB in use don't fit into this rank's 1.00 MiB");
  }
}

TEST(HostDevice, ComputesInFp32Only) {
  HostDevice device = device_of(mebibytes(1));
  std::vector<std::uint16_t> values(4);
  const Tensor half{values.data(), 4, Dtype::bf16};
  EXPECT_THROW(device.gemm({half, half, half, 2, 2, 2, 1, false, false, false}), MachineError);
  EXPECT_THROW(device.add(half, half, half), MachineError);
}

TEST(HostDevice, RandomNumbersAreNormalAndTheSameForASeed) {
  HostDevice device = device_of(mebibytes(1));
  constexpr std::int64_t count = 100'001;
  std::vector<float> a(count), b(count), c(count);
  device.fill_random({a.data(), count, Dtype::fp32}, 7, 2);
  device.fill_random({b.data(), count, Dtype::fp32}, 7, 2);
  device.fill_random({c.data(), count, Dtype::fp32}, 8, 2);
  EXPECT_EQ(a, b);
  EXPECT_NE(a, c);
  const double mean = std::accumulate(a.begin(), a.end(), 0.0) / count;
  double square = 0;
  for (const float value : a) square += static_cast<double>(value) * static_cast<double>(value) / count;
  // Standard errors are 2 / sqrt(100,001) = 0.006 of the mean, and 4 sqrt(2 / 100,001) = 0.018 of the square.
  EXPECT_NEAR(mean, 0, 0.03);
  EXPECT_NEAR(square, 4, 0.09);
  // 4.6 % of normal numbers lie outside of two deviations; standard error 0.07 %.
  const auto outside = std::ranges::count_if(a, [](float value) { return std::abs(value) > 4; });
  EXPECT_NEAR(static_cast<double>(outside) / count, 0.0455, 0.004);
}

TEST(HostDevice, TimedCountsKernelsTimeAndCpu) {
  HostDevice device = device_of(mebibytes(1));
  std::vector<float> a(200 * 200, 1.0F), c(200 * 200);
  const Tensor x{a.data(), 40'000, Dtype::fp32}, y{c.data(), 40'000, Dtype::fp32};
  const Sample work = device.timed([&] {
    device.gemm({x, x, y, 200, 200, 200, 1, false, false, false});
    device.add(x, y, y);
  });
  EXPECT_EQ(work.kernels, 2);
  EXPECT_GT(work.time, Seconds(0));
  EXPECT_GT(work.host, Seconds(0));
  const Sample sleep = device.timed([&] { device.pause(Seconds(0.05)); });
  EXPECT_GE(sleep.time, Seconds(0.05));
  EXPECT_LT(sleep.host, Seconds(0.01));  // a pause uses no core
}

// Clocks are doubles of seconds: exact to below 1 us for 100 years of uptime.
constexpr double clock_rounding = 1e-6;

TEST(DeviceTimeline, LateWakeUpsDoNotAddUp) {
  DeviceTimeline timeline;
  const Seconds start = monotonic_now();
  const Seconds first = timeline.pause(Seconds(0.001));
  EXPECT_GE(first, start + Seconds(0.001));
  EXPECT_GE(monotonic_now(), first);
  sleep_until(first + Seconds(0.004));  // as if it had woken up 4 ms late
  const Seconds second = timeline.pause(Seconds(0.001));
  EXPECT_NEAR((second - first).value, 0.001, clock_rounding);
  const Seconds third = timeline.pause(Seconds(0.01));
  EXPECT_NEAR((third - first).value, 0.011, clock_rounding);
  EXPECT_GE(monotonic_now(), third);
}

TEST(DeviceTimeline, APauseAfterWorkBeginsWhenItIsCalled) {
  DeviceTimeline timeline;
  const Seconds first = timeline.pause(Seconds(0.001));
  sleep_until(first + Seconds(0.004));
  timeline.worked();
  EXPECT_GE(timeline.pause(Seconds(0.001)), first + Seconds(0.005));
}

TEST(DeviceTimeline, APauseAfterAWaitBeginsWhenWhatItWaitedForEnded) {
  DeviceTimeline timeline;
  const Seconds first = timeline.pause(Seconds(0.001));
  timeline.waited(first, first + Seconds(0.002));
  const Seconds second = timeline.pause(Seconds(0.001));
  EXPECT_NEAR((second - first).value, 0.003, clock_rounding);
  // What ended before the stream came to it doesn't hold it up.
  timeline.waited(second + Seconds(0.001), first);
  EXPECT_NEAR((timeline.pause(Seconds(0.001)) - second).value, 0.001, clock_rounding);
}

TEST(HostBackend, OneRankNeedsNoNetwork) {
  const auto meeting = meet_alone("none");
  const auto backend = open_host_backend(*meeting);
  EXPECT_EQ(backend->name(), "host");
  const DeviceFacts& facts = backend->device().facts();
  EXPECT_EQ(facts.profile_name, "cpu-host");
  EXPECT_FALSE(facts.model.empty());
  EXPECT_GT(facts.memory_capacity, mebibytes(100));
  ASSERT_EQ(facts.dtypes, std::vector<Dtype>{Dtype::fp32});
  const auto communicator = backend->communicator({0});
  std::vector<float> in{1, 2, 3}, out(3);
  communicator->wait(communicator->start(
      {Operation::all_gather, {in.data(), 3, Dtype::fp32}, {out.data(), 3, Dtype::fp32}, 0}));
  EXPECT_EQ(out, in);
}

TEST(Machine, ARankKeepsToOneCoreWhereThereIsOneForEach) {
  const auto allowed = [] {
    cpu_set_t set;
    EXPECT_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
    return CPU_COUNT(&set);
  };
  const int cores = allowed();
  EXPECT_EQ(OwnCore({0, cores + 1, {}}).number().has_value(), cores == 1);
  {
    const OwnCore last({cores - 1, cores, {}});
    ASSERT_TRUE(last.number().has_value());
    EXPECT_EQ(sched_getcpu(), *last.number());
    EXPECT_EQ(allowed(), 1);
    EXPECT_EQ(OwnCore({0, cores, {}}).number(), last.number());  // bound already: it stays
    EXPECT_EQ(allowed(), 1);
  }
  EXPECT_EQ(allowed(), cores);
}

TEST(Neighbours, AProcessThatSpinsOnTheCoreIsNamed) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  int core = 0;
  while (!CPU_ISSET(core, &before)) ++core;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  const pid_t child = fork();
  if (child == 0) {
    sched_setaffinity(0, sizeof(one), &one);
    alarm(20);
    while (true) static_cast<void>(getppid());
  }
  const std::string named = "pid " + std::to_string(child) + " (";
  const auto is_named = [&](const std::vector<std::string>& busy) {
    return std::ranges::any_of(busy, [&](const std::string& text) { return text.starts_with(named); });
  };
  // On a busy machine it gets little of the core, and not at once.
  constexpr double share = 0.01;
  bool found = false;
  for (int attempt = 0; attempt < 50 && !found; ++attempt) {
    found = is_named(busy_processes(core, {getpid()}, share));
  }
  EXPECT_TRUE(found);
  EXPECT_FALSE(is_named(busy_processes(core, {getpid(), child}, share)));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace stepcast
