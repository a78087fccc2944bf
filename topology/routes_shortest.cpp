#include <algorithm>
#include <array>
#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <limits>
#include <mutex>
#include <utility>

#include "base/diagnostic.hpp"
#include "base/hash.hpp"
#include "topology/network_routes.hpp"

namespace stepcast {
namespace {

using Graph = boost::compressed_sparse_row_graph<boost::directedS>;

std::size_t at(int index) { return static_cast<std::size_t>(index); }

/// What is known about one destination.
struct Field {
  std::vector<int> distance;   ///< by switch, in hops; -1: not reachable
  std::vector<double> onward;  ///< by switch: rate of what can go on to the destination
};

struct VisitOrder : boost::base_visitor<VisitOrder> {
  using event_filter = boost::on_discover_vertex;
  std::vector<std::size_t>* order{};
  void operator()(std::size_t vertex, const Graph& /*graph*/) const { order->push_back(vertex); }
};

void add(std::vector<FlowShare>& shares, int link, double share) {
  for (FlowShare& known : shares) {
    if (known.link != link) continue;
    known.share += share;
    return;
  }
  shares.push_back({link, share});
}

class ShortestRoutes : public NetworkRoutes {
 public:
  ShortestRoutes(const SwitchGraph& graph, const RoutingRule& rule)
      : graph_(graph), rule_(rule), fields_(at(graph.size())) {
    std::vector<std::pair<std::size_t, std::size_t>> edges;
    edges.reserve(graph.arcs().size());
    for (const Arc& arc : graph.arcs()) edges.emplace_back(at(arc.from), at(arc.to));
    search_ = Graph(boost::edges_are_sorted, edges.begin(), edges.end(), at(graph.size()));
  }

  [[nodiscard]] std::vector<FlowShare> flow(int from, int to, int port, int peer) const override {
    const Field& field = field_of(to);
    STEPCAST_CHECK(field.distance[at(from)] > 0, "no way between two switches");
    std::vector<FlowShare> shares;
    if (rule_.routing == Routing::spray) {
      spread(field, from, shares);
    } else {
      const int flows = rule_.routing == Routing::ecmp ? rule_.flows : 1;
      for (int number = 0; number < flows; ++number)
        walk(field, from, port, peer, number, 1.0 / flows, shares);
    }
    return shares;
  }

 private:
  const Field& field_of(int to) const {
    const std::lock_guard lock(guard_);
    std::unique_ptr<Field>& field = fields_[at(to)];
    if (!field) field = std::make_unique<Field>(searched(to));
    return *field;
  }

  [[nodiscard]] Field searched(int to) const {
    Field field{std::vector<int>(at(graph_.size()), 0), {}};
    std::vector<std::size_t> order;
    VisitOrder visit;
    visit.order = &order;
    // Every cable is there in both directions, so the distances from the destination are those to it.
    boost::breadth_first_search(
        search_, at(to),
        boost::visitor(boost::make_bfs_visitor(std::pair(
            boost::record_distances(boost::make_iterator_property_map(
                                        field.distance.begin(), boost::get(boost::vertex_index, search_)),
                                    boost::on_tree_edge()),
            visit))));
    for (std::size_t one = 0; one < field.distance.size(); ++one)
      if (field.distance[one] == 0 && one != at(to)) field.distance[one] = -1;
    if (rule_.routing != Routing::spray) return field;
    field.onward.assign(at(graph_.size()), 0);
    field.onward[at(to)] = std::numeric_limits<double>::infinity();
    for (std::size_t i = 1; i < order.size(); ++i)
      for (const Arc& arc : graph_.out(static_cast<int>(order[i])))
        if (nearer(field, arc)) field.onward[order[i]] += std::min(arc.rate, field.onward[at(arc.to)]);
    return field;
  }

  static bool nearer(const Field& field, const Arc& arc) {
    return field.distance[at(arc.to)] == field.distance[at(arc.from)] - 1;
  }

  void spread(const Field& field, int from, std::vector<FlowShare>& shares) const {
    std::vector<std::pair<int, double>> here{{from, 1.0}};
    for (int left = field.distance[at(from)]; left > 0; --left) {
      std::vector<std::pair<int, double>> next;
      for (const auto& [one, share] : here) {
        for (const Arc& arc : graph_.out(one)) {
          if (!nearer(field, arc)) continue;
          const double part = share * std::min(arc.rate, field.onward[at(arc.to)]) / field.onward[at(one)];
          shares.push_back({arc.link, part});
          const auto same = std::find_if(next.begin(), next.end(),
                                         [&](const auto& known) { return known.first == arc.to; });
          if (same == next.end())
            next.emplace_back(arc.to, part);
          else
            same->second += part;
        }
      }
      here = std::move(next);
    }
  }

  void walk(const Field& field, int from, int port, int peer, int number, double share,
            std::vector<FlowShare>& shares) const {
    auto digits = at(peer);
    for (int one = from; field.distance[at(one)] > 0;) {
      std::size_t choices = 0;
      for (const Arc& arc : graph_.out(one)) choices += nearer(field, arc) ? 1 : 0;
      std::size_t chosen = digits % choices;
      digits /= choices;
      if (rule_.routing == Routing::ecmp) chosen = rule_.hashed(port, peer, number, one, choices);
      for (const Arc& arc : graph_.out(one)) {
        if (!nearer(field, arc) || chosen-- > 0) continue;
        add(shares, arc.link, share);
        one = arc.to;
        break;
      }
    }
  }

  const SwitchGraph& graph_;
  RoutingRule rule_;
  Graph search_;
  mutable std::mutex guard_;
  mutable std::vector<std::unique_ptr<Field>> fields_;  ///< by destination, found on first use
};

}  // namespace

SwitchGraph::SwitchGraph(int switches, std::vector<Arc> arcs) : arcs_(std::move(arcs)) {
  std::stable_sort(arcs_.begin(), arcs_.end(), [](const Arc& a, const Arc& b) { return a.from < b.from; });
  first_.assign(at(switches) + 1, 0);
  for (const Arc& arc : arcs_) ++first_[at(arc.from) + 1];
  for (std::size_t one = 1; one < first_.size(); ++one) first_[one] += first_[one - 1];
}

std::span<const Arc> SwitchGraph::out(int from) const {
  return arcs().subspan(at(first_[at(from)]), at(first_[at(from) + 1] - first_[at(from)]));
}

const Arc* SwitchGraph::between(int from, int to) const {
  for (const Arc& arc : out(from))
    if (arc.to == to) return &arc;
  return nullptr;
}

std::size_t RoutingRule::hashed(int port, int peer, int flow, int place, std::size_t choices) const {
  std::uint64_t hash = splitmix64(seed);
  for (const int part : {port, peer, flow, place}) hash = splitmix64(hash ^ static_cast<std::uint64_t>(part));
  return hash % choices;
}

std::unique_ptr<NetworkRoutes> shortest_routes(const SwitchGraph& graph, const RoutingRule& rule) {
  return std::make_unique<ShortestRoutes>(graph, rule);
}

}  // namespace stepcast
