#include "calibrate/measure/operands.hpp"

#include <gtest/gtest.h>

#include "fake_machine.hpp"

namespace stepcast {
namespace {

Measurement product(bool weight_gradient, Dtype type) {
  Measurement what;
  what.kind = Measurement::Kind::gemm;
  what.rows = 128;
  what.columns = 256;
  what.depth = 512;
  what.dtype = type;
  what.transpose_a = weight_gradient;
  return what;
}

// bf16: (128 x 512 + 512 x 256) x 2 bytes in, 128 x 256 x 2 out; weight gradients are fp32.
TEST(Operands, OfAProductAreItsMatrices) {
  const OperandSizes forward = operand_sizes(product(false, Dtype::bf16));
  EXPECT_EQ(forward.inputs.value, (128 * 512 + 512 * 256) * 2);
  EXPECT_EQ(forward.results.value, 128 * 256 * 2);
  EXPECT_EQ(operand_sizes(product(true, Dtype::bf16)).results.value, 128 * 256 * 4);
}

Measurement collective(Operation operation, int ranks) {
  Measurement what;
  what.kind = Measurement::Kind::collective;
  what.collective = operation;
  what.bytes = kibibytes(1);
  for (int rank = 0; rank < ranks; ++rank) what.ranks.push_back(rank);
  return what;
}

TEST(Operands, OfCollectivesFollowTheSizeThatNcclTestsPrints) {
  FakeClock clock;
  FakeDevice device(clock);
  Workbench workbench(device, operand_sizes(collective(Operation::all_gather, 3)));
  // 1 KiB is 256 elements; three ranks have 86 each, 258 together.
  const CollectiveRequest gather = workbench.request(collective(Operation::all_gather, 3));
  EXPECT_EQ(gather.input.count, 86);
  EXPECT_EQ(gather.output.count, 258);
  EXPECT_NE(gather.input.data, gather.output.data);
  const CollectiveRequest sum = workbench.request(collective(Operation::all_reduce, 3));
  EXPECT_EQ(sum.input.count, 258);
  EXPECT_EQ(sum.input.data, sum.output.data);
}

TEST(Operands, OfAttentionTakeFromTheDeviceWhatItKeeps) {
  Measurement what;
  what.kind = Measurement::Kind::attention;
  what.samples = 2;
  what.heads = 4;
  what.head_dim = 64;
  what.length = 128;
  FakeClock clock;
  const FakeDevice device(clock);
  const double output = 2.0 * 128 * 4 * 64 * 4;
  EXPECT_EQ(operand_sizes(what).results.value, output + 2.0 * 4 * 128 * 128 * 4);
  EXPECT_EQ(operand_sizes(what, &device).results.value, output + 2.0 * 4 * 128 * 4);
}

}  // namespace
}  // namespace stepcast
