#include <gtest/gtest.h>

#include <map>

#include "sim/engine/detail/fluid.hpp"
#include "tests/sim/engine/random_flows.hpp"

namespace stepcast {
namespace {

using test::below;

double alone_rate(const std::vector<Resource>& resources, const test::PlainFlows::Flow& flow) {
  double rate = flow.ceiling > 0 ? flow.ceiling : 1e300;
  for (const Load& load : flow.loads) rate = std::min(rate, resources[load.resource].capacity / load.weight);
  return rate;
}

// Only touched components are solved, so the rates that the others keep must still be the whole network's.
TEST(FluidNetwork, AfterEveryStartAndEndAllRatesCarryTheMaxMinCertificate) {
  detail::SplitMix64 random(20261201);
  for (int round = 0; round < 300; ++round) {
    const test::PlainFlows plain = test::random_flows(random);
    detail::FluidNetwork network(plain.resources);
    std::map<int, double> rate_of;  // of moving flows
    for (int change = 0; change < 60; ++change) {
      for (int several = 0, n = 1 + below(random, 3); several < n; ++several) {
        const int f = below(random, static_cast<int>(plain.flows.size()));
        if (plain.flows[f].loads.empty()) continue;
        if (rate_of.erase(f) > 0) {
          network.stop(f);
        } else {
          network.start(f, plain.flows[f].loads, alone_rate(plain.resources, plain.flows[f]));
          rate_of[f] = 0;
        }
      }
      std::vector<detail::FluidNetwork::RateChange> changes;
      network.resolve(changes);
      for (const auto& [flow, rate] : changes) rate_of.at(flow) = rate;

      std::vector<Demand> demands;
      std::vector<double> rates;
      for (const auto& [flow, rate] : rate_of) {
        demands.push_back({plain.flows[flow].loads, plain.flows[flow].ceiling});
        rates.push_back(rate);
      }
      ASSERT_EQ(test::fault_of(plain.resources, demands, rates), "") << round << ", change " << change;
    }
  }
}

// A start on resource 0 says nothing about the two that share resource 1.
TEST(FluidNetwork, FlowsThatNothingConnectsToAChangeAreLeftAlone) {
  const std::vector<Resource> resources{{10, 0, 1}, {10, 1, 1}};
  const std::vector<Load> on_first{{0, 1}}, on_second{{1, 1}};
  detail::FluidNetwork network(resources);
  std::vector<detail::FluidNetwork::RateChange> changes;
  network.start(0, on_second, 10);
  network.start(1, on_second, 10);
  network.resolve(changes);
  ASSERT_EQ(changes.size(), 2U);
  changes.clear();
  network.start(2, on_first, 10);
  network.resolve(changes);
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes.front().flow, 2);
  EXPECT_DOUBLE_EQ(changes.front().rate, 10);
}

}  // namespace
}  // namespace stepcast
