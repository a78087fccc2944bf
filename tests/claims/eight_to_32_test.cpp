#include <gtest/gtest.h>

#include "ask.hpp"

namespace stepcast {
namespace {

TEST(EightTo32, EveryPointFitsAndNoneScalesBeyondWhatShardingExplains) {
  const Report report = testing::ask("8-to-32.toml", {});
  ASSERT_EQ(report.points.size(), 90U);  // 3 nodes x 5 fabrics x 2 strategies x 3 accumulations
  for (const PointReport& point : report.points) {
    std::string name;
    for (const auto& [key, value] : point.settings) name += key + "=" + value.to_text() + " ";
    EXPECT_TRUE(point.invalid.empty()) << name;
    EXPECT_TRUE(point.memory.fits()) << name;
    ASSERT_TRUE(point.scaling_efficiency) << name;
    EXPECT_LE(*point.scaling_efficiency, 1.03) << name;
    EXPECT_GT(*point.scaling_efficiency, 0) << name;
    EXPECT_NEAR(point.breakdown.sum() / point.step_time, 1.0, 1e-9) << name;
    ASSERT_TRUE(point.mfu) << name;
    EXPECT_LE(*point.mfu, *point.hfu) << name;
    EXPECT_LT(*point.mfu, 0.65) << name;
  }
}

// One server is one server: no network is crossed, so the fabric can't matter.
TEST(EightTo32, OneNodeDoesNotDependOnTheFabric) {
  const Report report = testing::ask("8-to-32.toml", {{"cluster.nodes", "1"}});
  ASSERT_EQ(report.points.size(), 30U);
  for (std::size_t i = 6; i < report.points.size(); ++i) {
    EXPECT_EQ(report.points[i].step_time.value, report.points[i % 6].step_time.value);
  }
}

TEST(EightTo32, AllSixStrategiesCanBeSet) {
  const Report report =
      testing::ask("8-to-32.toml", {{"training.strategy", "ddp,zero1,zero2,zero3,fsdp,hsdp"},
                                    {"training.gradient_accumulation_steps", "1"}});
  ASSERT_EQ(report.points.size(), 90U);
  for (const PointReport& point : report.points) EXPECT_TRUE(point.invalid.empty());
}

}  // namespace
}  // namespace stepcast
