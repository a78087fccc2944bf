#include "base/units.hpp"

#include <gtest/gtest.h>

namespace stepcast {
namespace {

template <class A, class B>
concept Addable = requires(A a, B b) {
  a + b;
};
static_assert(Addable<Bytes, Bytes>);
static_assert(!Addable<Bytes, Seconds>);
static_assert(!Addable<Bytes, BytesPerSecond>);
static_assert(!Addable<Bytes, double>);

// 400 Gb/s are 50e9 bytes a second; 100e9 bytes then take 2 s.
TEST(Units, GigabitsAreBitsAndDecimal) {
  EXPECT_DOUBLE_EQ(gigabits_per_second(400).value, 50e9);
  EXPECT_DOUBLE_EQ((Bytes(100e9) / gigabits_per_second(400)).value, 2.0);
}

// 64 MiB = 64 * 2^20 = 67,108,864.
TEST(Units, MebibytesAreBinary) { EXPECT_DOUBLE_EQ(mebibytes(64).value, 67108864.0); }

TEST(Units, Tf32StoresFourBytes) {
  EXPECT_EQ(element_size(Dtype::tf32), 4);
  EXPECT_EQ(element_size(Dtype::bf16), 2);
  EXPECT_EQ(element_size(Dtype::fp8), 1);
}

}  // namespace
}  // namespace stepcast
