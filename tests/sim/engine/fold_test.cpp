#include "sim/engine/fold.hpp"

#include <gtest/gtest.h>

#include <map>

#include "sim/engine/detail/random.hpp"
#include "sim/engine/fair_share.hpp"

namespace stepcast {
namespace {

struct LinkWeight {
  int link{};
  double weight{};
};

// Links 0-3: capacity 10, links 4-7: 20. Cost 0 loads 0-7 with 1; cost 1 loads 2, 3 with 0.5.
// Classes: {0, 1}, {2, 3}, {4..7}; link 8 is loaded by nobody.
TEST(LinkFolder, GroupsLinksThatEveryCostLoadsAlike) {
  LinkFolder folder([](int link) { return link < 4 ? 10.0 : 20.0; });
  std::vector<LinkWeight> all;
  for (int link = 7; link >= 0; --link) all.push_back({link, 1});
  folder.add(all);
  folder.add(std::vector<LinkWeight>{{3, 0.5}, {2, 0.25}, {2, 0.25}, {8, 0}});
  const FoldedLinks folded = folder.fold();
  ASSERT_EQ(folded.resources.size(), 3U);
  EXPECT_EQ(folded.resources[0].link, 0);
  EXPECT_EQ(folded.resources[0].links, 2);
  EXPECT_EQ(folded.resources[1].link, 2);
  EXPECT_EQ(folded.resources[1].links, 2);
  EXPECT_EQ(folded.resources[2].link, 4);
  EXPECT_EQ(folded.resources[2].links, 4);
  EXPECT_EQ(folded.resources[1].capacity, 10);
  EXPECT_EQ(folded.resources[2].capacity, 20);
  ASSERT_EQ(folded.loads.size(), 2U);
  EXPECT_EQ(folded.loads[0].size(), 3U);
  ASSERT_EQ(folded.loads[1].size(), 1U);
  EXPECT_EQ(folded.loads[1][0].resource, 1);
  EXPECT_EQ(folded.loads[1][0].weight, 0.5);  // 0.25 + 0.25
}

// Whatever the loads, the rates over folded resources are the rates over single links.
TEST(LinkFolder, FoldingNeverChangesRates) {
  detail::SplitMix64 random(5);
  const auto below = [&](int n) { return static_cast<int>(random.next() % static_cast<std::uint64_t>(n)); };
  for (int round = 0; round < 300; ++round) {
    std::vector<Resource> single;
    for (int link = 0; link < 24; ++link) single.push_back({10.0 * (1 + below(2)), link, 1});
    LinkFolder folder([&](int link) { return single[link].capacity; });
    std::vector<std::vector<Load>> loads;
    for (int c = 0; c < 4; ++c) {
      std::map<int, double> weight_of;
      for (int i = 0; i < 16; ++i) weight_of[below(24)] = 0.5 * (1 + below(2));
      std::vector<LinkWeight> of_cost;
      loads.emplace_back();
      for (const auto& [link, weight] : weight_of) {
        of_cost.push_back({link, weight});
        loads.back().push_back({link, weight});
      }
      folder.add(of_cost);
    }
    const FoldedLinks folded = folder.fold();
    int links = 0;
    for (const Resource& resource : folded.resources) links += resource.links;
    EXPECT_LE(links, 24);
    std::vector<Demand> over_single, over_folded;
    for (int c = 0; c < 4; ++c) {
      over_single.push_back({loads[c], 7.0 + c});
      over_folded.push_back({folded.loads[c], 7.0 + c});
    }
    std::vector<double> expected, rates;
    fair_share(single, over_single, expected);
    fair_share(folded.resources, over_folded, rates);
    for (int c = 0; c < 4; ++c) ASSERT_NEAR(rates[c], expected[c], 1e-9 * expected[c]);
  }
}

}  // namespace
}  // namespace stepcast
