#include "sim/engine/simulate_flows.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/diagnostic.hpp"
#include "sim/engine/group_flows.hpp"
#include "tests/sim/engine/random_flows.hpp"

namespace stepcast {
namespace {

using test::below;
using test::PlainFlows;

constexpr double seconds(Picoseconds time) { return static_cast<double>(time) * 1e-12; }

/// What docs/engine.md says, as plainly as can be: in doubles, everything solved anew at every change.
struct Reference {
  std::vector<double> end;    ///< seconds
  std::vector<double> bytes;  ///< that have arrived
};

Reference run_plainly(const PlainFlows& plain) {
  enum class State { blocked, moving, ended };
  const std::size_t count = plain.flows.size();
  constexpr double never = std::numeric_limits<double>::infinity();
  Reference result{std::vector<double>(count, never), std::vector<double>(count, 0)};
  std::vector<State> state(count, State::blocked);
  double now = 0;
  while (true) {
    std::vector<double> begin(count, never);
    std::vector<Demand> demands;
    std::vector<std::size_t> moving;
    for (std::size_t f = 0; f < count; ++f) {
      const PlainFlows::Flow& flow = plain.flows[f];
      if (state[f] == State::blocked) {
        double ready = 0;
        for (const int before : flow.after) ready = std::max(ready, result.end[before]);
        begin[f] = ready + seconds(flow.latency);
        for (const int before : flow.behind) begin[f] = std::max(begin[f], result.end[before]);
        if (begin[f] <= now) state[f] = State::moving;
      }
      if (state[f] == State::moving) {
        moving.push_back(f);
        demands.push_back({flow.loads, flow.ceiling});
      }
    }
    std::vector<double> rates;
    fair_share(plain.resources, demands, rates);
    double next = never;
    for (std::size_t f = 0; f < count; ++f)
      if (state[f] == State::blocked) next = std::min(next, begin[f]);
    for (std::size_t m = 0; m < moving.size(); ++m)
      next = std::min(next, now + (plain.flows[moving[m]].bytes - result.bytes[moving[m]]) / rates[m]);
    if (next == never) return result;
    for (std::size_t m = 0; m < moving.size(); ++m) {
      const std::size_t f = moving[m];
      result.bytes[f] += rates[m] * (next - now);
      if (result.bytes[f] < plain.flows[f].bytes - 1e-6) continue;
      state[f] = State::ended;
      result.end[f] = next;
    }
    now = next;
  }
}

TEST(SimulateFlows, RandomFlowsEndWhenAPlainSimulationEndsThem) {
  detail::SplitMix64 random(7);
  for (int round = 0; round < 400; ++round) {
    const PlainFlows plain = test::random_flows(random);
    const Reference expected = run_plainly(plain);
    const FlowTimes times = simulate_flows(plain.set());
    ASSERT_EQ(times.end.size(), plain.flows.size());
    ASSERT_EQ(times.events, 2 * static_cast<std::int64_t>(plain.flows.size()));  // each starts and ends once
    for (std::size_t f = 0; f < plain.flows.size(); ++f) {
      ASSERT_NEAR(expected.bytes[f], plain.flows[f].bytes, 1e-6);
      // Each event on the way is rounded to a picosecond; a flow held behind one byte at 1e-3 of the rate
      // sees that a thousandfold. 1e-9 s of ends around 1e-3 s.
      ASSERT_NEAR(seconds(times.end[f]), expected.end[f], 1e-9) << "round " << round << ", flow " << f;
    }
  }
}

TEST(SimulateFlows, TheSameSetGivesTheSameTimes) {
  detail::SplitMix64 random(8);
  const FlowSet set = test::random_flows(random).set();
  EXPECT_EQ(simulate_flows(set).end, simulate_flows(set).end);
}

/// Copies of a random set that share nothing, and some that share one more resource: much is alike.
PlainFlows several_copies(const PlainFlows& one, int copies, detail::SplitMix64& random) {
  PlainFlows all;
  const int resources = static_cast<int>(one.resources.size()), flows = static_cast<int>(one.flows.size());
  const bool connected = below(random, 2) == 0;
  for (int c = 0; c < copies; ++c)
    for (const Resource& resource : one.resources)
      all.resources.push_back({resource.capacity, c * resources + resource.link, 1});
  all.resources.push_back({5e10, copies * resources, 1});
  for (int c = 0; c < copies; ++c)
    for (PlainFlows::Flow flow : one.flows) {
      for (Load& load : flow.loads) load.resource += c * resources;
      for (int& before : flow.after) before += c * flows;
      for (int& before : flow.behind) before += c * flows;
      if (connected) flow.loads.push_back({copies * resources, 1});
      all.flows.push_back(flow);
    }
  return all;
}

TEST(SimulateFlows, GroupedFlowsEndWithTheirTwinsAndWhenUngroupedOnesDo) {
  detail::SplitMix64 random(9);
  for (int round = 0; round < 200; ++round) {
    const PlainFlows one = test::random_flows(random);
    const int copies = 2 + below(random, 4);
    const FlowSet set = several_copies(one, copies, random).set();
    const FlowTimes apart = simulate_flows(set), grouped = simulate_flows(set, {.group_alike = true});
    ASSERT_LE(grouped.simulated_flows, static_cast<int>(one.flows.size()));
    for (std::size_t f = 0; f < apart.end.size(); ++f) {
      // Rounding to a picosecond can fall either way at every event that leads here.
      ASSERT_NEAR(seconds(grouped.end[f]), seconds(apart.end[f]), 1e-9 * seconds(apart.end[f]) + 1e-10);
      ASSERT_EQ(grouped.end[f], grouped.end[f % one.flows.size()]);
    }
  }
}

// Two flows of one path, of 100 bytes at 10 B/s, and one that waits for the first on another path: they are
// as unlike as their latencies.
TEST(SimulateFlows, FlowsThatDifferInAnythingAreNotGrouped) {
  FlowSet set({{10, 0, 1}, {10, 1, 1}});
  const std::vector<Load> first{{0, 1}}, second{{1, 1}};
  const int path = set.add_path(first), other = set.add_path(second);
  set.add_flow(path, 100);
  set.add_flow(path, 100, 1);
  set.add_flow(other, 100);
  const GroupedFlows grouped = group_flows(set);
  EXPECT_EQ(grouped.group_of, (std::vector<int>{0, 1, 2}));  // the third one is alone on its resource
}

// 100 B at 10 B/s, then 3 s of latency, then 50 B at 10 B/s: 10 + 3 + 5 s.
TEST(SimulateFlows, AFlowStartsItsLatencyAfterTheLastOfItsPredecessors) {
  FlowSet set({{10, 0, 1}, {20, 1, 1}});
  const std::vector<Load> slow{{0, 1}}, fast{{1, 1}};
  const int path = set.add_path(slow), other = set.add_path(fast);
  const int first = set.add_flow(path, 100), sooner = set.add_flow(other, 100);
  const int last = set.add_flow(path, 50, 3'000'000'000'000, std::vector{first, sooner});
  const FlowTimes times = simulate_flows(set);
  EXPECT_EQ(times.end[first], 10'000'000'000'000);
  EXPECT_EQ(times.end[sooner], 5'000'000'000'000);
  EXPECT_EQ(times.end[last], 18'000'000'000'000);
  EXPECT_EQ(times.finish, times.end[last]);
}

// 10 s behind a flow of 100 B at 10 B/s, while the latency of 7 s has begun with the start: 10 + 5 s. The
// other's latency of 12 s is still not over at 10 s: 12 + 5 s on a link of its own.
TEST(SimulateFlows, AFlowBehindAnotherDoesNotPayItsLatencyAgain) {
  FlowSet set({{10, 0, 1}, {10, 1, 1}});
  const std::vector<Load> link{{0, 1}}, other{{1, 1}};
  const int path = set.add_path(link), way = set.add_path(other);
  const int first = set.add_flow(path, 100);
  const int next = set.add_flow(path, 50, 7'000'000'000'000, {}, std::vector{first});
  const int later = set.add_flow(way, 50, 12'000'000'000'000, {}, std::vector{first});
  const FlowTimes times = simulate_flows(set);
  EXPECT_EQ(times.end[next], 15'000'000'000'000);
  EXPECT_EQ(times.end[later], 17'000'000'000'000);
}

// A and B share 10 B/s. A: 50 B at 5 B/s, 10 s. C follows A on its path: B still has 50 of its 100 B, both
// at 5 B/s until C's 25 B end at 15 s; B's last 25 B take 2.5 s.
TEST(SimulateFlows, ASuccessorOnTheSamePathTakesItsPlaceAndItsShare) {
  FlowSet set({{10, 0, 1}});
  const std::vector<Load> link{{0, 1}};
  const int path = set.add_path(link);
  const int a = set.add_flow(path, 50), b = set.add_flow(path, 100);
  const int c = set.add_flow(path, 25, 0, std::vector{a});
  const FlowTimes times = simulate_flows(set);
  EXPECT_EQ(times.end[a], 10'000'000'000'000);
  EXPECT_EQ(times.end[c], 15'000'000'000'000);
  EXPECT_EQ(times.end[b], 17'500'000'000'000);
  EXPECT_EQ(times.most_at_once, 2);
}

TEST(SimulateFlows, WithoutResourceACeilingSetsTheTimeAndWithoutBytesTheLatency) {
  FlowSet set({});
  const int path = set.add_path({}, 10);
  set.add_flow(path, 20, 1'000'000'000'000);
  set.add_flow(path, 0, 5);
  set.add_flow(path, 0);
  EXPECT_EQ(simulate_flows(set).end, (std::vector<Picoseconds>{3'000'000'000'000, 5, 0}));
}

TEST(SimulateFlows, ACancelledRunIsInterrupted) {
  detail::SplitMix64 random(1);
  const std::atomic<bool> cancel{true};
  EXPECT_THROW((void)simulate_flows(test::random_flows(random).set(), {.cancel = &cancel}), Interrupted);
}

TEST(SimulateFlows, ASetThatCanNotRunIsOurFault) {
  FlowSet set({{10, 0, 1}});
  const std::vector<Load> unknown{{1, 1}}, link{{0, 1}};
  EXPECT_THROW(set.add_path(unknown), InternalError);
  EXPECT_THROW(set.add_path({}), InternalError);  // nothing limits it
  const int path = set.add_path(link);
  EXPECT_THROW(set.add_flow(path, 1, 0, std::vector{0}), InternalError);  // itself
  EXPECT_THROW(set.add_flow(path, -1), InternalError);
}

TEST(SimulateFlows, AnEndBeyondTheClockIsToldAsOne) {
  FlowSet set({{1e-3, 0, 1}});
  const std::vector<Load> link{{0, 1}};
  set.add_flow(set.add_path(link), 1e6);  // 1e9 s
  EXPECT_THROW((void)simulate_flows(set), ClockOverflow);
}

}  // namespace
}  // namespace stepcast
