#include "calibrate/measure/plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "fake_machine.hpp"

namespace stepcast {
namespace {

using Kind = Measurement::Kind;

DeviceFacts host() {
  DeviceFacts facts;
  facts.profile_name = "cpu-host";
  facts.memory_capacity = gibibytes(4);
  facts.dtypes = {Dtype::fp32};
  return facts;
}

DeviceFacts h100() {
  DeviceFacts facts;
  facts.profile_name = "h100-sxm";
  facts.compute_capability = 9;
  facts.sms = 132;
  facts.memory_capacity = gibibytes(79);
  facts.dtypes = {Dtype::fp32, Dtype::tf32, Dtype::bf16, Dtype::fp16, Dtype::fp8};
  return facts;
}

MeasuringOptions options(bool quick, double budget, double gigabits = 1) {
  MeasuringOptions options;
  options.quick = quick;
  options.budget = Seconds(budget);
  options.between_nodes = {0.94 * gigabits_per_second(gigabits), microseconds(50)};
  return options;
}

double expected(const std::vector<PlannedMeasurement>& plan) {
  double sum = 0;
  for (const PlannedMeasurement& planned : plan) sum += planned.expected.value;
  return sum;
}

template <class Condition>
long count(const std::vector<PlannedMeasurement>& plan, const Condition& condition) {
  return std::count_if(plan.begin(), plan.end(),
                       [&](const PlannedMeasurement& planned) { return condition(planned.what); });
}

long count(const std::vector<PlannedMeasurement>& plan, Kind kind) {
  return count(plan, [&](const Measurement& what) { return what.kind == kind; });
}

TEST(MeasuringPlan, OfAQuickCalibrationOfTwoHostsAtOneGigabitIsExpectedToFitIntoItsBudget) {
  const auto plan = measuring_plan(host(), spread_ranks(0, 2), options(true, 45));
  EXPECT_LT(expected(plan), 45);
  for (const Kind kind : {Kind::gemm, Kind::attention, Kind::kernel, Kind::launch, Kind::collective,
                          Kind::overlap, Kind::sustained})
    EXPECT_GT(count(plan, kind), 0) << name_of(kind);
}

TEST(MeasuringPlan, MakesACopyThatNoCacheHoldsBeforeAllOtherCopies) {
  for (const DeviceFacts& device : {host(), h100()}) {
    for (const bool quick : {true, false}) {
      const auto plan = measuring_plan(device, spread_ranks(0, 1), options(quick, 300));
      const auto copy = std::find_if(plan.begin(), plan.end(),
                                     [](const auto& planned) { return planned.what.operation == "copy"; });
      ASSERT_NE(copy, plan.end());
      EXPECT_TRUE(tells_memory_rate(copy->what)) << describe(copy->what);
    }
  }
}

// A tenth of a second has a twelfth of it, 8.3 ms, for each: too little for a single measurement, as each
// takes six batches of 3 ms.
TEST(MeasuringPlan, TellsWhatTheBudgetAloneKeepsOut) {
  const auto whole = measuring_plan(host(), spread_ranks(0, 1), options(true, 45));
  EXPECT_TRUE(too_long_for_budget(host(), spread_ranks(0, 1), options(true, 45)).empty());
  const auto too_long = too_long_for_budget(host(), spread_ranks(0, 1), options(true, 0.1));
  EXPECT_EQ(too_long.size() + static_cast<std::size_t>(count(whole, Kind::sustained)), whole.size());
}

TEST(MeasuringPlan, HoldsNothingTwiceAndNothingThatDoesNotFit) {
  for (const DeviceFacts& device : {host(), h100()}) {
    for (const bool quick : {true, false}) {
      const auto plan = measuring_plan(device, spread_ranks(0, 16, 8), options(quick, 300, 400));
      for (std::size_t i = 0; i < plan.size(); ++i) {
        EXPECT_LT(plan[i].memory.value, device.memory_capacity.value / 2) << describe(plan[i].what);
        EXPECT_GT(plan[i].expected.value, 0) << describe(plan[i].what);
        for (std::size_t j = 0; j < i; ++j) EXPECT_FALSE(plan[i].what == plan[j].what);
      }
    }
  }
}

TEST(MeasuringPlan, BeginsWithWhatEveryPredictionNeeds) {
  const auto plan = measuring_plan(host(), spread_ranks(0, 4, 2), options(false, 300));
  EXPECT_TRUE(std::is_sorted(plan.begin(), plan.end(),
                             [](const auto& a, const auto& b) { return a.stage < b.stage; }));
  const auto first = [&](auto condition) {
    return std::find_if(plan.begin(), plan.end(), [&](const auto& p) { return condition(p.what); }) -
           plan.begin();
  };
  EXPECT_LT(first([](const Measurement& m) { return m.kind == Kind::collective && m.group == "all"; }),
            first([](const Measurement& m) { return m.group == "across"; }));
  EXPECT_LT(first([](const Measurement& m) { return m.kind == Kind::gemm; }),
            first([](const Measurement& m) { return m.collective == Operation::send_recv; }));
}

TEST(MeasuringPlan, SpreadsEachKindOverItsStageSoThatSomeOfEachAreMadeWheneverTimeRunsOut) {
  const auto plan = measuring_plan(host(), spread_ranks(0, 2), options(true, 45));
  const std::vector<PlannedMeasurement> quarter(plan.begin(),
                                                plan.begin() + static_cast<long>(plan.size()) / 4);
  for (const Kind kind : {Kind::gemm, Kind::attention, Kind::kernel, Kind::collective, Kind::overlap})
    EXPECT_GT(count(quarter, kind), 0) << name_of(kind);
}

// A linear layer of 512 inputs and 256 outputs on 128 tokens: y = x W^T, dx = dy W, dW = dy^T x.
TEST(ProductsOfALinearLayer, AreTheThreeLayoutsOfTraining) {
  const auto products = products_of_linear(128, 256, 512, Dtype::bf16);
  ASSERT_EQ(products.size(), 3U);
  const auto shape = [](const Measurement& m) {
    return std::tuple(m.rows, m.columns, m.depth, m.transpose_a, m.transpose_b);
  };
  EXPECT_EQ(shape(products[0]), std::tuple(128, 256, 512, false, true));
  EXPECT_EQ(shape(products[1]), std::tuple(128, 512, 256, false, false));
  EXPECT_EQ(shape(products[2]), std::tuple(256, 512, 128, true, false));
}

TEST(MeasuringPlan, OfAHostHasProductsOfUsefulLengthAlsoThinAndVocabularyWideOnes) {
  const auto plan = measuring_plan(host(), spread_ranks(0, 1), options(true, 45));
  for (const PlannedMeasurement& planned : plan) {
    if (planned.what.kind != Kind::gemm) continue;
    EXPECT_GE(planned.one_call.value, 2e-5) << describe(planned.what);
    EXPECT_LE(planned.one_call.value, 0.05) << describe(planned.what);
  }
  const auto gemm = [](const Measurement& m) { return m.kind == Kind::gemm; };
  EXPECT_GT(count(plan, [&](const Measurement& m) { return gemm(m) && m.columns <= 64; }), 0);
  EXPECT_GT(count(plan, [&](const Measurement& m) { return gemm(m) && m.depth <= 64; }), 0);
  EXPECT_GT(count(plan, [&](const Measurement& m) { return gemm(m) && m.columns >= 8192; }), 0);
  // Each layout on its own.
  EXPECT_GT(count(plan, [&](const Measurement& m) { return gemm(m) && m.transpose_a; }), 20);
  EXPECT_GT(count(plan, [&](const Measurement& m) { return gemm(m) && m.transpose_b; }), 20);
}

TEST(MeasuringPlan, OfAGpuComputesInTheTypesThatItHas) {
  const auto plan = measuring_plan(h100(), spread_ranks(0, 1), options(false, 300));
  const auto of = [&](Dtype type) {
    return count(plan, [&](const Measurement& m) { return m.kind == Kind::gemm && m.dtype == type; });
  };
  EXPECT_GT(of(Dtype::bf16), of(Dtype::fp8));
  EXPECT_GT(of(Dtype::fp8), 0);
  DeviceFacts v100 = h100();
  v100.profile_name = "v100-sxm2-32g";
  v100.dtypes = {Dtype::fp32, Dtype::fp16};
  const auto old = measuring_plan(v100, spread_ranks(0, 1), options(true, 90));
  EXPECT_EQ(count(old, [](const Measurement& m) { return m.dtype == Dtype::bf16; }), 0);
  EXPECT_GT(count(old, [](const Measurement& m) { return m.dtype == Dtype::fp16; }), 0);
}

TEST(MeasuringPlan, OfOneRankHasNoCollectives) {
  const auto plan = measuring_plan(host(), spread_ranks(0, 1), options(false, 300));
  EXPECT_EQ(count(plan, Kind::collective), 0);
  EXPECT_EQ(count(plan, Kind::overlap), 0);
}

TEST(MeasuringPlan, TakesSizesByPowersOfFourWhenQuickAndOfTwoOtherwise) {
  const auto sizes = [](bool quick) {
    std::set<double> found;
    for (const auto& planned : measuring_plan(host(), spread_ranks(0, 2), options(quick, 300))) {
      const Measurement& m = planned.what;
      if (m.kind == Kind::collective && m.collective == Operation::all_reduce) found.insert(m.bytes.value);
    }
    return found;
  };
  // 1 KiB to 64 MiB: 4^0 .. 4^8, and 2^0 .. 2^16.
  EXPECT_EQ(sizes(true).size(), 9U);
  EXPECT_EQ(sizes(false).size(), 17U);
  EXPECT_EQ(*sizes(true).rbegin(), 64.0 * 1024 * 1024);
}

// 64 MiB take 64 MiB / (0.94 x 25 MB/s) = 2.9 s at 200 Mb/s, six of them 17 s: more than a twelfth of 45 s.
TEST(MeasuringPlan, LeavesOutSizesThatTheBudgetDoesNotAllow) {
  const auto plan = measuring_plan(host(), spread_ranks(0, 2), options(true, 45, 0.2));
  EXPECT_LT(expected(plan), 45);
  for (const PlannedMeasurement& planned : plan) {
    if (planned.what.kind != Kind::collective) continue;
    EXPECT_LE(6 * planned.one_call.value, 45.0 / 12);
  }
}

TEST(RankGroups, AreNamedOnceEach) {
  const auto names = [](int ranks, int per_node) {
    std::vector<std::string> all;
    for (const RankGroup& group : rank_groups(spread_ranks(0, ranks, per_node))) all.push_back(group.name);
    return all;
  };
  using testing::ElementsAre;
  EXPECT_THAT(names(1, 1), ElementsAre());
  EXPECT_THAT(names(8, 8), ElementsAre("all"));
  EXPECT_THAT(names(4, 1), ElementsAre("all"));
  EXPECT_THAT(names(6, 3), ElementsAre("all", "node", "across", "rail 1", "rail 2"));
}

TEST(RankGroups, CountTheNodesThatTheyAreOn) {
  const auto groups = rank_groups(spread_ranks(0, 6, 3));
  EXPECT_EQ(groups[0].nodes, 2);
  EXPECT_THAT(groups[1].ranks, testing::ElementsAre(0, 1, 2));
  EXPECT_EQ(groups[1].nodes, 1);
  EXPECT_THAT(groups[3].ranks, testing::ElementsAre(1, 4));
  EXPECT_EQ(groups[3].nodes, 2);
}

Bytes moved(const std::string& operation, Pass pass) {
  Measurement what;
  what.kind = Kind::kernel;
  what.operation = operation;
  what.pass = pass;
  what.elements = 1000;
  what.columns = 100;
  what.rows = 50;
  return Estimates(host(), {}).moved_bytes(what);
}

// fp32, 1000 elements in 10 rows. Norm: x in, y out, two statistics a row: (2000 + 20) x 4. Backward: 5 n and
// the statistics. Residual 3 n. Bias: read and written by a kernel of its own; backward reads dy once.
TEST(MovedBytes, AreWhatTheCostModelCounts) {
  EXPECT_DOUBLE_EQ(moved("norm", Pass::forward).value, 8080);
  EXPECT_DOUBLE_EQ(moved("norm", Pass::backward).value, 20080);
  EXPECT_DOUBLE_EQ(moved("residual", Pass::forward).value, 12000);
  EXPECT_DOUBLE_EQ(moved("activation", Pass::backward).value, 12000);
  EXPECT_DOUBLE_EQ(moved("bias", Pass::forward).value, 8000);
  EXPECT_DOUBLE_EQ(moved("bias", Pass::backward).value, 4000);
  EXPECT_DOUBLE_EQ(moved("copy", Pass::forward).value, 8000);
  EXPECT_DOUBLE_EQ(moved("adamw", Pass::forward).value, 28000);
  // Tokens 2 n and 8 bytes an id; positions 3 n.
  EXPECT_DOUBLE_EQ(moved("embedding", Pass::forward).value, 8000 + 80 + 12000);
}

// The two passes that one kernel of the device does together; the trainer's loss is fused.
TEST(MovedBytes, OfCrossEntropyAreThoseOfBothPasses) {
  EXPECT_DOUBLE_EQ(moved("cross_entropy", Pass::forward).value, moved("cross_entropy", Pass::backward).value);
  // Fused, as the trainer's profile says: each pass 2 n, and of a row a statistic and 8 bytes of id.
  EXPECT_DOUBLE_EQ(moved("cross_entropy", Pass::forward).value, 2 * (8000 + 40 + 80));
}

}  // namespace
}  // namespace stepcast
