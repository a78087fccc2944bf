#include "topology/path_search.hpp"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/dijkstra_shortest_paths.hpp>
#include <boost/graph/filtered_graph.hpp>
#include <limits>

namespace stepcast {
namespace {

struct Arc {
  int link{-1};
  LinkKind kind{};
  double cost{};
};

using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property, Arc>;
using Edge = boost::graph_traits<Graph>::edge_descriptor;

double cost_of(const Link& link) {
  // The second term, a small fraction of a hop, prefers the faster of two paths of the same kinds.
  const double tie_break = 1e7 / link.capacity.value;
  switch (link.kind) {
    case LinkKind::nvlink:
      return 1 + tie_break;
    case LinkKind::pcie:
      return 1e2 + tie_break;
    case LinkKind::host:
      return 1e4 + tie_break;
    case LinkKind::nic:
    case LinkKind::fabric:
      return 1e6 + tie_break;
  }
  return 1e6;
}

struct Allowed {
  const Graph* graph{};
  Reach reach{Reach::all};
  bool operator()(const Edge& edge) const {
    const bool nvlink = (*graph)[edge].kind == LinkKind::nvlink;
    return reach == Reach::all || nvlink == (reach == Reach::nvlink);
  }
};

struct RecordLastLink : boost::base_visitor<RecordLastLink> {
  using event_filter = boost::on_edge_relaxed;
  std::vector<int>* last_link{};
  template <class AnyGraph>
  void operator()(const Edge& edge, const AnyGraph& graph) const {
    (*last_link)[boost::target(edge, graph)] = graph[edge].link;
  }
};

}  // namespace

struct PathSearch::Implementation {
  explicit Implementation(int devices) : graph(static_cast<std::size_t>(devices)) {}
  Graph graph;
  std::vector<int> link_source;
};

PathSearch::PathSearch(int devices, std::span<const Link> links)
    : implementation_(std::make_unique<Implementation>(devices)) {
  implementation_->link_source.reserve(links.size());
  for (std::size_t i = 0; i < links.size(); ++i) {
    implementation_->link_source.push_back(links[i].from);
    if (!(links[i].capacity.value > 0)) continue;  // dead
    boost::add_edge(static_cast<std::size_t>(links[i].from), static_cast<std::size_t>(links[i].to),
                    Arc{static_cast<int>(i), links[i].kind, cost_of(links[i])}, implementation_->graph);
  }
}
PathSearch::~PathSearch() = default;
PathSearch::PathSearch(PathSearch&&) noexcept = default;
PathSearch& PathSearch::operator=(PathSearch&&) noexcept = default;

PathSearch::Row PathSearch::from(int device, Reach reach) const {
  const Graph& graph = implementation_->graph;
  Row row;
  row.last_link.assign(boost::num_vertices(graph), -1);
  row.cost.assign(boost::num_vertices(graph), std::numeric_limits<double>::infinity());
  const boost::filtered_graph<Graph, Allowed> seen(graph, Allowed{&graph, reach});
  RecordLastLink record;
  record.last_link = &row.last_link;
  boost::dijkstra_shortest_paths(seen, static_cast<std::size_t>(device),
                                 boost::weight_map(boost::get(&Arc::cost, graph))
                                     .distance_map(boost::make_iterator_property_map(
                                         row.cost.begin(), boost::get(boost::vertex_index, graph)))
                                     .distance_inf(std::numeric_limits<double>::infinity())
                                     .visitor(boost::make_dijkstra_visitor(record)));
  return row;
}

std::vector<int> PathSearch::path(const Row& row, int to) const {
  std::vector<int> links;
  for (int link = row.last_link[static_cast<std::size_t>(to)]; link >= 0;) {
    links.push_back(link);
    const int before = implementation_->link_source[static_cast<std::size_t>(link)];
    link = row.last_link[static_cast<std::size_t>(before)];
  }
  std::reverse(links.begin(), links.end());
  return links;
}

}  // namespace stepcast
