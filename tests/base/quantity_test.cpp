#include "base/quantity.hpp"

#include <gtest/gtest.h>

namespace stepcast {
namespace {

TEST(Quantity, ReadsEachKindWithOrWithoutABlank) {
  EXPECT_DOUBLE_EQ(parse_rate("400 Gb/s")->value, 50e9);
  EXPECT_DOUBLE_EQ(parse_rate("25GB/s")->value, 25e9);
  EXPECT_DOUBLE_EQ(parse_bytes("64 MiB")->value, 67108864.0);
  EXPECT_DOUBLE_EQ(parse_bytes("1.5 kB")->value, 1500.0);
  EXPECT_DOUBLE_EQ(parse_seconds("5 us")->value, 5e-6);
  EXPECT_DOUBLE_EQ(*parse_elements("500 Melements"), 5e8);
  EXPECT_DOUBLE_EQ(parse_flops("312 TFLOP/s")->value, 312e12);
}

TEST(Quantity, RefusesNumbersWithoutUnitWrongUnitsAndSigns) {
  EXPECT_FALSE(parse_rate("400"));
  EXPECT_FALSE(parse_rate("400 GB"));
  EXPECT_FALSE(parse_bytes("MiB"));
  EXPECT_FALSE(parse_bytes("-1 MiB"));
  EXPECT_FALSE(parse_bytes("1 mib"));
  EXPECT_FALSE(parse_seconds("inf s"));
  EXPECT_FALSE(parse_seconds(""));
}

}  // namespace
}  // namespace stepcast
