#include <algorithm>

#include "topology/network_routes.hpp"

namespace stepcast {
namespace {

class DragonflyRoutes : public NetworkRoutes {
 public:
  DragonflyRoutes(const SwitchGraph& graph, const RoutingRule& rule, std::vector<double> offered)
      : graph_(graph), offered_(std::move(offered)), shortest_(shortest_routes(graph, rule)) {}

  [[nodiscard]] std::vector<FlowShare> flow(int from, int to, int port, int peer) const override {
    const Arc *up = hub_of(from), *last = hub_of(to);
    if (up == nullptr || last == nullptr || up->to == last->to) return shortest_->flow(from, to, port, peer);
    const int hub = up->to, peer_hub = last->to;
    const Arc* down = graph_.between(peer_hub, to);
    const Arc* direct = graph_.between(hub, peer_hub);
    struct Detour {
      const Arc *out{}, *in{};
      double rate{};
    };
    std::vector<Detour> detours;
    double around = 0;
    for (const Arc& out : graph_.out(hub)) {
      if (!is_hub(out.to) || out.to == peer_hub) continue;
      const Arc* in = graph_.between(out.to, peer_hub);
      if (in == nullptr) continue;
      detours.push_back({&out, in, std::min(out.rate, in->rate)});
      around += detours.back().rate;
    }
    const double straight = direct == nullptr ? 0 : direct->rate;
    if (straight + around <= 0) return shortest_->flow(from, to, port, peer);
    // The links between the two groups first; what they cannot take in proportion to what the detours can.
    const double wanted = std::min(offered_[static_cast<std::size_t>(hub)], straight + around);
    const double part = std::min(1.0, straight / wanted);
    std::vector<FlowShare> shares{{up->link, 1.0}};
    if (direct != nullptr) shares.push_back({direct->link, part});
    for (const Detour& detour : detours) {
      const double share = (1 - part) * detour.rate / around;
      if (!(share > 0)) continue;
      shares.push_back({detour.out->link, share});
      shares.push_back({detour.in->link, share});
    }
    shares.push_back({down->link, 1.0});
    return shares;
  }

 private:
  [[nodiscard]] bool is_hub(int one) const { return offered_[static_cast<std::size_t>(one)] > 0; }
  /// From a leaf to the spines of its group; nullptr when it is cut off from them.
  [[nodiscard]] const Arc* hub_of(int leaf) const {
    return graph_.out(leaf).empty() ? nullptr : &graph_.out(leaf).front();
  }

  const SwitchGraph& graph_;
  std::vector<double> offered_;
  std::unique_ptr<NetworkRoutes> shortest_;
};

}  // namespace

std::unique_ptr<NetworkRoutes> dragonfly_routes(const SwitchGraph& graph, const RoutingRule& rule,
                                                std::vector<double> offered) {
  return std::make_unique<DragonflyRoutes>(graph, rule, std::move(offered));
}

}  // namespace stepcast
