// The same flows in this simulator and in SimGrid (3.32, S4U), each run in a process of its own: simulated
// time, user CPU seconds with set-up, peak memory. SimGrid's network model is set to ideal max-min sharing:
// no factors, no TCP window, no cross traffic.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

#include "sim/engine/simulate_flows.hpp"
#include "tests/bench/child_run.hpp"
#include "tests/bench/flow_workloads.hpp"

namespace stepcast::bench {
namespace {

namespace s4u = simgrid::s4u;

constexpr const char* ideal_sharing[] = {"network/model:CM02",         "network/latency-factor:1",
                                         "network/bandwidth-factor:1", "network/crosstraffic:0",
                                         "network/weight-S:0",         "network/TCP-gamma:0"};

/// A platform of `tree` within the engine of this process.
std::vector<s4u::Host*> build_hosts(const FatTree& tree) {
  const auto count = static_cast<unsigned>(tree.hosts), leaf = static_cast<unsigned>(tree.per_leaf);
  std::vector<s4u::Host*> hosts(count);
  s4u::ClusterCallbacks callbacks(
      [&hosts](s4u::NetZone* zone, const std::vector<unsigned long>&, unsigned long number) {
        s4u::Host* host = zone->create_host("host" + std::to_string(number), 1e9);
        host->seal();
        hosts[number] = host;
        return std::pair<simgrid::kernel::routing::NetPoint*, simgrid::kernel::routing::NetPoint*>(
            host->get_netpoint(), nullptr);
      });
  const s4u::FatTreeParams shape(2, {leaf, count / leaf}, {1, static_cast<unsigned>(tree.uplinks)}, {1, 1});
  s4u::NetZone* outer = s4u::create_full_zone("outer");
  s4u::NetZone* fabric =
      s4u::create_fatTree_zone("fabric", outer, shape, callbacks, link_rate, tree.link_microseconds * 1e-6,
                               s4u::Link::SharingPolicy::SPLITDUPLEX);
  fabric->seal();
  outer->seal();
  return hosts;
}

/// Every host an actor that sends a chunk to the next one and receives one, step after step.
void ring_of_actors(const std::vector<s4u::Host*>& hosts, std::int64_t& flows) {
  const std::size_t n = hosts.size();
  for (std::size_t rank = 0; rank < n; ++rank) {
    s4u::Actor::create("rank" + std::to_string(rank), hosts[rank], [rank, n, &flows] {
      static int parcel;
      s4u::Mailbox* next = s4u::Mailbox::by_name(std::to_string((rank + 1) % n));
      s4u::Mailbox* own = s4u::Mailbox::by_name(std::to_string(rank));
      for (std::size_t step = 0; step < 2 * (n - 1); ++step) {
        const s4u::CommPtr sent =
            next->put_async(&parcel, static_cast<std::uint64_t>(payload / static_cast<double>(n)));
        own->get<int>();
        sent->wait();
        ++flows;
      }
    });
  }
}

/// One actor that starts all flows of a step and waits for them.
void ring_in_lockstep(const std::vector<s4u::Host*>& hosts, std::int64_t& flows) {
  s4u::Actor::create("driver", hosts[0], [&hosts, &flows] {
    const std::size_t n = hosts.size();
    std::vector<s4u::CommPtr> step;
    for (std::size_t number = 0; number < 2 * (n - 1); ++number) {
      step.clear();
      for (std::size_t rank = 0; rank < n; ++rank)
        step.push_back(s4u::Comm::sendto_async(hosts[rank], hosts[(rank + 1) % n],
                                               static_cast<std::uint64_t>(payload / static_cast<double>(n))));
      s4u::Comm::wait_all(step);
      flows += static_cast<std::int64_t>(n);
    }
  });
}

template <bool uneven>
void everyone_to_everyone(const std::vector<s4u::Host*>& hosts, std::int64_t& flows) {
  s4u::Actor::create("driver", hosts[0], [&hosts, &flows] {
    const FatTree tree{static_cast<int>(hosts.size())};
    std::vector<s4u::CommPtr> all;
    for (int from = 0; from < tree.hosts; ++from)
      for (int to = 0; to < tree.hosts; ++to)
        if (from != to)
          all.push_back(s4u::Comm::sendto_async(
              hosts[static_cast<std::size_t>(from)], hosts[static_cast<std::size_t>(to)],
              static_cast<std::uint64_t>(exchange_bytes(tree, uneven, from, to))));
    s4u::Comm::wait_all(all);
    flows = static_cast<std::int64_t>(all.size());
  });
}

using Start = void (*)(const std::vector<s4u::Host*>&, std::int64_t&);

Measured in_simgrid(const FatTree& tree, Start start) {
  return run_apart([&] {
    std::vector<std::string> words{"simgrid_bench", "--log=root.thres:critical"};
    for (const char* setting : ideal_sharing) words.push_back(std::string("--cfg=") + setting);
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    int count = static_cast<int>(words.size());
    s4u::Engine engine(&count, arguments.data());
    const std::vector<s4u::Host*> hosts = build_hosts(tree);
    std::int64_t flows = 0;
    start(hosts, flows);
    engine.run();
    return Outcome{s4u::Engine::get_clock(), flows, 0};
  });
}

Measured in_stepcast(const FatTree& tree, FlowSet (*flows)(const FatTree&)) {
  return run_apart([&] {
    const FlowSet set = flows(tree);
    const FlowTimes times = simulate_flows(set);
    return Outcome{static_cast<double>(times.finish) * 1e-12, set.flow_count(), times.events};
  });
}

void print_row(const std::string& name, const FatTree& tree, const Measured& run, const Measured* other) {
  std::printf("%-36s %5d %9lld", name.c_str(), tree.hosts, static_cast<long long>(run.outcome.flows));
  if (!run.ended) {
    std::printf("  the run died\n");
    return;
  }
  std::printf(" %10.6f %9.2f %9.0f", 1e3 * run.outcome.seconds, run.cpu_seconds, run.peak_mib);
  if (other != nullptr && other->ended)
    std::printf(" %+10.2e %7.1f x", run.outcome.seconds / other->outcome.seconds - 1,
                run.cpu_seconds / std::max(other->cpu_seconds, 1e-3));
  std::printf("\n");
  std::fflush(stdout);
}

FlowSet whole_ring(const FatTree& tree) { return ring_all_reduce(tree); }
FlowSet even(const FatTree& tree) { return all_to_all(tree); }
FlowSet uneven(const FatTree& tree) { return all_to_all(tree, true); }

void compare(const std::string& name, const FatTree& tree, FlowSet (*flows)(const FatTree&),
             const std::vector<std::pair<const char*, Start>>& ways) {
  const Measured ours = in_stepcast(tree, flows);
  print_row(name + ", stepcast", tree, ours, nullptr);
  for (const auto& [way, start] : ways)
    print_row(name + ", SimGrid" + way, tree, in_simgrid(tree, start), &ours);
}

void all_rows(bool quick) {
  const std::vector<std::pair<const char*, Start>> rings{{" actors", ring_of_actors},
                                                         {" lockstep", ring_in_lockstep}};
  std::printf(
      "64 MiB per rank, 50 GB/s links, two-level fat tree, D-mod-K, no latency where none is named; equal "
      "flows not grouped\n");
  std::printf("%-36s %5s %9s %10s %9s %9s %10s %9s\n", "run", "ranks", "flows", "time ms", "CPU s",
              "peak MiB", "difference", "CPU ratio");
  for (const FatTree& tree : {FatTree{32, 8, 8}, FatTree{256, 16, 16}, FatTree{1024, 32, 32}})
    if (!quick || tree.hosts < 1024) compare("ring", tree, whole_ring, rings);
  compare("ring, 1 us per link", {256, 16, 16, 1}, whole_ring, rings);
  for (const FatTree& tree :
       {FatTree{32, 8, 8}, FatTree{32, 8, 2}, FatTree{256, 16, 16}, FatTree{256, 16, 4}})
    if (!quick || tree.hosts < 256)
      compare(tree.uplinks < tree.per_leaf ? "all-to-all 4:1" : "all-to-all", tree, even,
              {{"", everyone_to_everyone<false>}});
  for (const FatTree& tree : {FatTree{32, 8, 2}, FatTree{64, 8, 2}})
    compare("uneven all-to-all 4:1", tree, uneven, {{"", everyone_to_everyone<true>}});
}

}  // namespace
}  // namespace stepcast::bench

int main(int argc, char** argv) {
  stepcast::bench::all_rows(argc > 1 && std::strcmp(argv[1], "--quick") == 0);
}
