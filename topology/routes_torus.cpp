#include <algorithm>

#include "topology/network_routes.hpp"

namespace stepcast {
namespace {

class TorusRoutes : public NetworkRoutes {
 public:
  TorusRoutes(const SwitchGraph& graph, const RoutingRule& rule, std::vector<int> sizes)
      : graph_(graph), rule_(rule), sizes_(std::move(sizes)), around_(shortest_routes(graph, rule)) {}

  [[nodiscard]] std::vector<FlowShare> flow(int from, int to, int port, int peer) const override {
    const std::vector<Way> ways = living_ways(from, to);
    if (ways.empty()) return around_->flow(from, to, port, peer);
    std::vector<double> parts(ways.size(), 0.0);
    if (rule_.routing == Routing::fixed) {
      parts.front() = 1;
    } else if (rule_.routing == Routing::ecmp) {
      for (int number = 0; number < rule_.flows; ++number)
        parts[rule_.hashed(port, peer, number, from, ways.size())] += 1.0 / rule_.flows;
    } else {
      double all = 0;
      for (const Way& way : ways) all += way.rate;
      for (std::size_t i = 0; i < ways.size(); ++i) parts[i] = ways[i].rate / all;
    }
    std::vector<FlowShare> shares;
    for (std::size_t i = 0; i < ways.size(); ++i) {
      for (const int link : ways[i].links) {
        if (!(parts[i] > 0)) break;
        const auto same = std::find_if(shares.begin(), shares.end(),
                                       [&](const FlowShare& known) { return known.link == link; });
        if (same == shares.end())
          shares.push_back({link, parts[i]});
        else
          same->share += parts[i];
      }
    }
    return shares;
  }

 private:
  struct Way {
    std::vector<int> links;
    double rate{};  ///< of its slowest link
  };
  /// Steps in one dimension: how many, and upwards or downwards.
  struct Leg {
    std::size_t dimension{};
    int steps{}, direction{};
  };

  [[nodiscard]] int stride(std::size_t dimension) const {
    int stride = 1;
    for (std::size_t d = 0; d < dimension; ++d) stride *= sizes_[d];
    return stride;
  }

  /// All orders of the dimensions, with all directions; none with a dead link.
  [[nodiscard]] std::vector<Way> living_ways(int from, int to) const {
    std::vector<std::vector<Leg>> choices{{}};
    for (std::size_t d = 0; d < sizes_.size(); ++d) {
      const int size = sizes_[d], step = stride(d);
      const int up = ((to / step - from / step) % size + size) % size;
      if (up == 0) continue;
      std::vector<std::vector<Leg>> longer;
      for (const auto& legs : choices) {
        // A ring of two has one cable, so that both ways round are the same.
        if (2 * up <= size) (longer.emplace_back(legs)).push_back({d, up, 1});
        if (2 * up > size || (2 * up == size && size > 2))
          (longer.emplace_back(legs)).push_back({d, size - up, -1});
      }
      choices = std::move(longer);
    }
    std::vector<Way> ways;
    for (auto& legs : choices) {
      do {
        Way way = along(from, legs);
        if (way.rate > 0) ways.push_back(std::move(way));
      } while (std::next_permutation(legs.begin(), legs.end(),
                                     [](const Leg& a, const Leg& b) { return a.dimension < b.dimension; }));
    }
    return ways;
  }

  [[nodiscard]] Way along(int from, const std::vector<Leg>& legs) const {
    Way way;
    int one = from;
    for (const Leg& leg : legs) {
      const int size = sizes_[leg.dimension], step = stride(leg.dimension);
      for (int i = 0; i < leg.steps; ++i) {
        const int place = one / step % size;
        const int next = one + ((place + leg.direction + size) % size - place) * step;
        const Arc* arc = graph_.between(one, next);
        if (arc == nullptr) return {};
        way.rate = way.links.empty() ? arc->rate : std::min(way.rate, arc->rate);
        way.links.push_back(arc->link);
        one = next;
      }
    }
    return way;
  }

  const SwitchGraph& graph_;
  RoutingRule rule_;
  std::vector<int> sizes_;
  std::unique_ptr<NetworkRoutes> around_;
};

}  // namespace

std::unique_ptr<NetworkRoutes> torus_routes(const SwitchGraph& graph, const RoutingRule& rule,
                                            std::vector<int> sizes) {
  return std::make_unique<TorusRoutes>(graph, rule, std::move(sizes));
}

}  // namespace stepcast
