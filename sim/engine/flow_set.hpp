#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "sim/engine/program.hpp"

namespace stepcast {

/// Flows that share resources, each of which starts when others have ended: the input of simulate_flows.
/// A flow takes about 20 bytes and 8 for each flow that it waits for; paths are stored once.
///
///     FlowSet set({{50e9, 0, 1}, {50e9, 1, 1}});
///     const int path = set.add_path(std::vector<Load>{{0, 1}, {1, 1}});
///     const int first = set.add_flow(path, 65536, 2'000'000);
///     set.add_flow(path, 65536, 2'000'000, std::vector{first});
class FlowSet {
 public:
  /// What many flows have in common.
  struct Kind {
    int path{};
    double bytes{};
    Picoseconds latency{};  ///< between the last end that it follows and its first byte
  };
  struct Path {
    std::size_t first_load{};
    int load_count{};
    double alone_rate{};  ///< bytes per second of one flow that has its resources for itself
  };
  explicit FlowSet(std::vector<Resource> resources);

  /// @param loads  bytes over each resource per byte of the flow; the same resource twice adds up
  /// @param rate_ceiling  bytes per second; 0: none
  /// @throws InternalError for a path without limit, an unknown resource, a weight or capacity below 0
  int add_path(std::span<const Load> loads, double rate_ceiling = 0);
  /// A path of flows that each stand for several: the loads are those of all of them, the rate that of one.
  int add_shared_path(std::span<const Load> loads, double alone_rate);
  /// It starts when `latency` has passed since the last of `after` has ended (since time 0 without any), and
  /// all of `behind` have ended.
  /// @param after  flows added earlier, whose bytes it needs
  /// @param behind  flows added earlier that are before it in some queue
  int add_flow(int path, double bytes, Picoseconds latency = 0, std::span<const int> after = {},
               std::span<const int> behind = {});
  /// Memory for so many flows, and so many pairs of a flow and one that it waits for, at once.
  void reserve(std::size_t flows, std::size_t pairs);

  [[nodiscard]] int flow_count() const { return static_cast<int>(kind_of_.size()); }
  [[nodiscard]] std::span<const Resource> resources() const { return resources_; }
  [[nodiscard]] const std::vector<Path>& paths() const { return paths_; }
  [[nodiscard]] const Kind& kind(int flow) const { return kinds_[static_cast<std::size_t>(kind_of_[flow])]; }
  [[nodiscard]] std::span<const Load> loads(const Path& path) const {
    return std::span(loads_).subspan(path.first_load, static_cast<std::size_t>(path.load_count));
  }
  [[nodiscard]] int predecessor_count(int flow) const { return predecessors_[flow]; }
  /// Calls `visit(flow, delayed)` for each flow that waits for this one; delayed: its latency, too, begins
  /// with this one's end.
  template <class Visit>
  void for_each_successor(int flow, Visit visit) const {
    for (int s = first_successor_[flow]; s >= 0;) {
      const Successor& successor = successors_[static_cast<std::size_t>(s)];
      visit(successor.flow >= 0 ? successor.flow : ~successor.flow, successor.flow >= 0);
      s = successor.next;
    }
  }

 private:
  /// A flow that waits, in the list of those that wait for one flow.
  struct Successor {
    int flow{};  ///< ~number where it only stands behind
    int next{-1};
  };
  void wait_for(int before, int successor);

  std::vector<Resource> resources_;
  std::vector<Load> loads_;
  std::vector<Path> paths_;
  std::vector<Kind> kinds_;
  std::vector<int> latest_kind_;  ///< by path: flows of one path come in runs of equal size
  std::vector<int> kind_of_, predecessors_, first_successor_;  ///< by flow
  std::vector<Successor> successors_;
};

}  // namespace stepcast
