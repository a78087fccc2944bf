#pragma once

#include <memory>
#include <span>
#include <vector>

#include "topology/cluster.hpp"

namespace stepcast {

/// One direction of a living cable between switches.
struct Arc {
  int from{}, to{}, link{};
  double rate{};
};

/// Switches and their living cables; each cable is there in both directions.
class SwitchGraph {
 public:
  SwitchGraph(int switches, std::vector<Arc> arcs);

  [[nodiscard]] int size() const { return static_cast<int>(first_.size()) - 1; }
  [[nodiscard]] std::span<const Arc> arcs() const { return arcs_; }
  [[nodiscard]] std::span<const Arc> out(int from) const;
  [[nodiscard]] const Arc* between(int from, int to) const;  ///< nullptr: not joined

 private:
  std::vector<Arc> arcs_;  ///< by source, in the order of their links
  std::vector<int> first_;
};

enum class Routing { spray, ecmp, fixed };

/// How flows pick their way.
struct RoutingRule {
  Routing routing{};
  std::uint64_t seed{};
  int flows{1};  ///< between two cards, each hashed by itself (ecmp)

  /// A choice out of `choices`, the same for the same flow at the same place.
  [[nodiscard]] std::size_t hashed(int port, int peer, int flow, int place, std::size_t choices) const;
};

/// Ways between switches.
class NetworkRoutes {
 public:
  NetworkRoutes() = default;
  NetworkRoutes(const NetworkRoutes&) = delete;
  NetworkRoutes& operator=(const NetworkRoutes&) = delete;
  virtual ~NetworkRoutes() = default;
  /// Shares of the links for bytes of card `port` on switch `from` to card `peer` on switch `to`, another
  /// one that can be reached.
  [[nodiscard]] virtual std::vector<FlowShare> flow(int from, int to, int port, int peer) const = 0;
};

/// Shortest paths. At each switch `ecmp` hashes the flow over the next hops; `fixed` takes the receiver's
/// number modulo their number, what remains of it at the next switch with a choice (D-mod-K; Zahavi 2010);
/// `spray` parts the flow in proportion to what can go on over each next hop.
[[nodiscard]] std::unique_ptr<NetworkRoutes> shortest_routes(const SwitchGraph& graph,
                                                             const RoutingRule& rule);

/// Shortest paths that cross the dimensions one after the other: `fixed` in their order, `ecmp` in a hashed
/// order, `spray` in all orders equally; both ways round where they are equally long (`fixed`: upwards).
/// Orders that meet a dead link are left out; when all do, shortest paths.
[[nodiscard]] std::unique_ptr<NetworkRoutes> torus_routes(const SwitchGraph& graph, const RoutingRule& rule,
                                                          std::vector<int> sizes);

/// Sprayed flows of dragonfly+ with bundled spines: shortest, and by one other group what the links between
/// the two groups cannot take when all that group `from` can send goes to group `to`.
/// @param offered  by switch: what all cards of the group can send, of its spines; 0 for leaves
[[nodiscard]] std::unique_ptr<NetworkRoutes> dragonfly_routes(const SwitchGraph& graph,
                                                              const RoutingRule& rule,
                                                              std::vector<double> offered);

}  // namespace stepcast
