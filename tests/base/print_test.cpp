#include "base/print.hpp"

#include <gtest/gtest.h>

namespace stepcast {
namespace {

TEST(Print, TimesCarryThreeDigitsAndTheirUnit) {
  EXPECT_EQ(print_time(Seconds(1.2345e-3)), "1.23 ms");
  EXPECT_EQ(print_time(Seconds(0.0)), "0 s");
  EXPECT_EQ(print_time(Seconds(99.9)), "99.9 s");
  EXPECT_EQ(print_time(Seconds(7200)), "2.00 h");
  EXPECT_EQ(print_time(Seconds(999.6e-6)), "1.00 ms");
}

// 80 GB = 80e9 / 2^30 = 74.5 GiB.
TEST(Print, SizesAreBinaryAndRatesDecimal) {
  EXPECT_EQ(print_size(Bytes(80e9)), "74.5 GiB");
  EXPECT_EQ(print_rate(gigabits_per_second(400)), "50.0 GB/s");
}

TEST(Print, SharesCountsAndIntegers) {
  EXPECT_EQ(print_share(0.9341), "93.4 %");
  EXPECT_EQ(print_count(8030261248.0), "8.03 G");
  EXPECT_EQ(print_count(12), "12.0");
  EXPECT_EQ(print_integer(1234567.8), "1,234,568");
  EXPECT_EQ(print_integer(-1234), "-1,234");
  EXPECT_EQ(print_integer(999), "999");
}

}  // namespace
}  // namespace stepcast
