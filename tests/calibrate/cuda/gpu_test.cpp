// What only a real GPU can show; the kernels' results are compared in kernels_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "gpu_device.hpp"

namespace stepcast {
namespace {

class Gpu : public testing::Test {
 protected:
  void SetUp() override {
    if (gpu_backend() == nullptr) GTEST_SKIP() << "no GPU: nothing was run";
  }
  static ComputeDevice& device() { return gpu_backend()->device(); }
  static bool has(Dtype type) {
    const auto& types = device().facts().dtypes;
    return std::find(types.begin(), types.end(), type) != types.end();
  }

  struct Owned {
    std::shared_ptr<void> memory;
    Tensor tensor;
  };
  static Owned zeros(std::int64_t count, Dtype type = Dtype::fp32) {
    Owned made{device().allocate(count * static_cast<std::int64_t>(element_size(type))), {}};
    made.tensor = {made.memory.get(), count, type};
    return made;
  }
  static std::vector<float> values(Tensor tensor) {
    std::vector<float> result(static_cast<std::size_t>(tensor.count));
    device().download(tensor, result.data());
    return result;
  }
};

TEST_F(Gpu, APauseLastsAtLeastAsLongAsItShould) {
  const Sample sample = device().timed([] { device().pause(microseconds(500)); });
  EXPECT_GE(sample.time, microseconds(500));
  EXPECT_EQ(sample.kernels, 1);
}

TEST_F(Gpu, TimedCountsKernelsAndTheirLaunches) {
  const Owned a = zeros(1 << 20);
  const Sample sample = device().timed([&] {
    for (int i = 0; i < 10; ++i) device().add(a.tensor, a.tensor, a.tensor);
  });
  EXPECT_EQ(sample.kernels, 10);
  EXPECT_GT(sample.host, Seconds(0));
  EXPECT_GT(sample.busy, Seconds(0));
  EXPECT_LE(sample.busy, sample.time);
}

TEST_F(Gpu, FactsTellVersions) {
  std::vector<std::string> told;
  for (const auto& [what, version] : device().facts().versions) told.push_back(what);
  EXPECT_THAT(told, testing::IsSupersetOf({"CUDA runtime", "CUDA of the driver", "cuBLASLt", "CUPTI"}));
}

TEST_F(Gpu, LargeCopiesArriveWhole) {
  std::vector<float> sent((1 << 20) + 3);
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<float>(i);
  const Owned there = zeros(static_cast<std::int64_t>(sent.size()));
  device().upload(there.tensor, sent.data());
  EXPECT_EQ(values(there.tensor), sent);
}

TEST_F(Gpu, MoreMemoryThanThereIsIsRefusedInWords) {
  const auto capacity = static_cast<std::int64_t>(device().facts().memory_capacity.value);
  try {
    static_cast<void>(device().allocate(2 * capacity));
    FAIL();
  } catch (const MachineError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("out of GPU memory"));
  }
  EXPECT_NE(device().allocate(1024), nullptr);  // and it goes on
}

TEST_F(Gpu, FreedMemoryIsHandedOutAgainZeroed) {
  std::vector<float> ones(1000, 1.0F);
  {
    const Owned block = zeros(1000);
    device().upload(block.tensor, ones.data());
  }
  EXPECT_THAT(values(zeros(1000).tensor), testing::Each(0.0F));
}

TEST_F(Gpu, Tf32AndFp8ProductsAreNearTheFp32One) {
  constexpr std::int64_t rows = 64, columns = 96, depth = 128;
  const auto product = [&](Dtype type) {
    const Owned a = zeros(rows * depth, type), b = zeros(columns * depth, type), c = zeros(rows * columns);
    device().fill_random(a.tensor, 1, 1);
    device().fill_random(b.tensor, 2, 1);
    device().gemm({.a = a.tensor,
                   .b = b.tensor,
                   .c = c.tensor,
                   .rows = rows,
                   .columns = columns,
                   .depth = depth,
                   .transpose_b = true});
    return values(c.tensor);
  };
  const auto exact = product(Dtype::fp32);
  // Factors are rounded to 11 and 4 bits; sums of 128 products of unit normals have a deviation of 11.3.
  for (const auto& [type, tolerance] : {std::pair{Dtype::tf32, 0.1F}, std::pair{Dtype::fp8, 4.0F}}) {
    if (!has(type)) continue;
    EXPECT_THAT(product(type), testing::Pointwise(testing::FloatNear(tolerance), exact));
  }
}

TEST_F(Gpu, Fp8ProductsThatGpusLackAreRefused) {
  const Owned a = zeros(1024, Dtype::fp8), c = zeros(1024);
  EXPECT_THROW(
      device().gemm({.a = a.tensor, .b = a.tensor, .c = c.tensor, .rows = 32, .columns = 32, .depth = 32}),
      MachineError);
}

TEST_F(Gpu, NcclRunsEveryCollectiveOnOneRank) {
  std::unique_ptr<DeviceCommunicator> alone;
  try {
    alone = gpu_backend()->communicator({0});
  } catch (const MachineError& error) {
    GTEST_SKIP() << "no NCCL: " << error.what();
  }
  const Owned in = zeros(4096);
  device().fill_random(in.tensor, 3, 1);
  for (const Operation operation :
       {Operation::all_reduce, Operation::all_gather, Operation::reduce_scatter, Operation::broadcast,
        Operation::reduce, Operation::all_to_all, Operation::send_recv}) {
    const Owned out = zeros(4096);
    const CollectiveRequest request{operation, in.tensor, out.tensor, 0};
    const auto ticket = alone->start(request);
    alone->wait(ticket);
    EXPECT_EQ(values(out.tensor), values(in.tensor)) << name_of(operation);
    EXPECT_GE(alone->duration(ticket), Seconds(0));
    EXPECT_EQ(alone->host_time(ticket), Seconds(0));
    EXPECT_EQ(alone->facts(request).estimate, Seconds(0));  // one rank: NCCL has no algorithm for it
  }
}

}  // namespace
}  // namespace stepcast
