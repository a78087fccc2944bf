#include "sim/engine/fair_share.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/diagnostic.hpp"
#include "sim/engine/detail/random.hpp"

namespace stepcast {
namespace {

std::vector<double> rates_of(const std::vector<Resource>& resources,
                             const std::vector<std::vector<Load>>& loads, std::vector<double> ceilings = {}) {
  ceilings.resize(loads.size(), 0);
  std::vector<Demand> demands;
  for (std::size_t i = 0; i < loads.size(); ++i) demands.push_back({loads[i], ceilings[i]});
  std::vector<double> rates;
  fair_share(resources, demands, rates);
  return rates;
}

TEST(FairShare, EqualFlowsShareALinkEqually) {
  const auto rates = rates_of({{90, 0, 1}}, {{{0, 1}}, {{0, 1}}, {{0, 1}}});
  for (const double rate : rates) EXPECT_DOUBLE_EQ(rate, 30);
}

TEST(FairShare, AFlowAloneRunsAtItsCeilingOrItsNarrowestLink) {
  EXPECT_DOUBLE_EQ(rates_of({{100, 0, 1}}, {{{0, 2}}}).front(), 50);        // 100 / 2
  EXPECT_DOUBLE_EQ(rates_of({{100, 0, 1}}, {{{0, 2}}}, {20}).front(), 20);  // the ceiling is below 50
}

// Alone: 100 and 100 / 0.1 = 1000. At level l the link carries 1 * 100 l + 0.1 * 1000 l = 200 l = 100: l =
// 1/2. Rate-fair sharing would give both 100 / 1.1 = 90.9 and hold the light user to a tenth of what it has
// alone.
TEST(FairShare, ALightUserIsNotHeldToAHeavyOnesPace) {
  const auto rates = rates_of({{100, 0, 1}}, {{{0, 1}}, {{0, 0.1}}});
  EXPECT_DOUBLE_EQ(rates[0], 50);
  EXPECT_DOUBLE_EQ(rates[1], 500);
}

// Link 0 (10) holds flows a, b; link 1 (10) holds b, c, d. Everyone alone: 10. Link 1 fills at level 1/3: b =
// c = d = 10/3. Then a takes what link 0 has left: 10 - 10/3 = 20/3.
TEST(FairShare, WhatAHeldFlowLeavesGoesToTheOthers) {
  const auto rates = rates_of({{10, 0, 1}, {10, 1, 1}}, {{{0, 1}}, {{0, 1}, {1, 1}}, {{1, 1}}, {{1, 1}}});
  EXPECT_NEAR(rates[0], 20.0 / 3, 1e-12);
  for (int i = 1; i < 4; ++i) EXPECT_NEAR(rates[i], 10.0 / 3, 1e-12);
}

// Ceiling 2 of alone-rate 2; the other alone 10. Level l: 2 l + 10 l = 10: l = 5/6: rates 5/3 and 25/3.
TEST(FairShare, ACeilingScalesTheShareLikeALink) {
  const auto rates = rates_of({{10, 0, 1}}, {{{0, 1}}, {{0, 1}}}, {2, 0});
  EXPECT_NEAR(rates[0], 5.0 / 3, 1e-12);
  EXPECT_NEAR(rates[1], 25.0 / 3, 1e-12);
}

TEST(FairShare, ALinkNamedTwiceCountsBothWeights) {
  EXPECT_DOUBLE_EQ(rates_of({{12, 0, 1}}, {{{0, 1}, {0, 2}}}).front(), 4);
}

TEST(FairShare, AnActivityWithoutLimitIsOurFault) {
  EXPECT_THROW(rates_of({{12, 0, 1}}, {{}}), InternalError);
}

// The certificate of the docstring, on random networks: no resource above capacity, and each activity is at
// its ceiling or crosses a full resource on which no one has a higher level.
TEST(FairShare, RandomNetworksConserveCapacityAndCarryTheMaxMinCertificate) {
  detail::SplitMix64 random(20260101);
  const auto below = [&](int n) { return static_cast<int>(random.next() % static_cast<std::uint64_t>(n)); };
  for (int round = 0; round < 2000; ++round) {
    std::vector<Resource> resources;
    for (int r = 0, n = 1 + below(12); r < n; ++r) resources.push_back({0.1 + 100 * random.uniform(), r, 1});
    std::vector<std::vector<Load>> loads;
    std::vector<double> ceilings;
    for (int d = 0, n = 1 + below(15); d < n; ++d) {
      std::vector<Load> of_one;
      for (int r = 0; r < static_cast<int>(resources.size()); ++r) {
        const double weight = below(4) == 0 ? 1e-4 * random.uniform() : 0.1 + 3 * random.uniform();
        if (below(3) == 0) of_one.push_back({r, weight});
      }
      if (of_one.empty()) of_one.push_back({0, 1});
      loads.push_back(of_one);
      ceilings.push_back(below(3) == 0 ? 20 * random.uniform() : 0);
    }
    const auto rates = rates_of(resources, loads, ceilings);

    std::vector<double> used(resources.size(), 0), alone(loads.size());
    for (std::size_t d = 0; d < loads.size(); ++d) {
      alone[d] = ceilings[d] > 0 ? ceilings[d] : 1e300;
      for (const Load& load : loads[d]) {
        used[load.resource] += load.weight * rates[d];
        alone[d] = std::min(alone[d], resources[load.resource].capacity / load.weight);
      }
    }
    for (std::size_t r = 0; r < resources.size(); ++r) ASSERT_LE(used[r], resources[r].capacity * (1 + 1e-9));
    for (std::size_t d = 0; d < loads.size(); ++d) {
      ASSERT_GT(rates[d], 0);
      const double level = rates[d] / alone[d];
      const bool at_ceiling = ceilings[d] > 0 && rates[d] >= ceilings[d] * (1 - 1e-9);
      const bool held = std::any_of(loads[d].begin(), loads[d].end(), [&](const Load& mine) {
        const int r = mine.resource;
        if (used[r] < resources[r].capacity * (1 - 1e-9)) return false;
        for (std::size_t other = 0; other < loads.size(); ++other) {
          const bool crosses = std::any_of(loads[other].begin(), loads[other].end(),
                                           [&](const Load& load) { return load.resource == r; });
          if (crosses && rates[other] / alone[other] > level * (1 + 1e-9)) return false;
        }
        return true;
      });
      ASSERT_TRUE(at_ceiling || held) << "round " << round << ", activity " << d;
    }
  }
}

}  // namespace
}  // namespace stepcast
