#include "sim/collective/collective.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/diagnostic.hpp"
#include "sim/collective/choice.hpp"
#include "sim/collective/fitted_curve.hpp"
#include "sim/collective/latency.hpp"
#include "sim/collective/link_loads.hpp"
#include "sim/collective/link_rates.hpp"
#include "sim/collective/measured.hpp"
#include "sim/collective/nccl_communicator.hpp"
#include "sim/collective/nccl_constants.hpp"
#include "sim/engine/fair_share.hpp"

namespace stepcast {
namespace {

using SharedLoads = std::shared_ptr<const std::vector<LinkLoad>>;

/// Loads of a call with what follows from them alone.
struct Loaded {
  SharedLoads simple;  ///< bytes of payload; LL and LL128 put more on the wire
  CallLoads facts;     ///< without the loads themselves
  RateLimits limits;
};

/// One way of running a call, its group alone.
struct Estimate {
  Way way;
  Seconds latency;
  BytesPerSecond ceiling, rate;
  Seconds time;
};

/// Everything about one list of groups that does not depend on the payload.
struct GroupSet {
  std::vector<GroupShape> shapes;
  GroupTraits traits;
  bool regular{};
  bool reducing_switch{};  ///< on every node
  bool nvswitch{};         ///< likewise
  double rings_inside{};   ///< 0: not computed yet
  std::optional<NcclTuning> tuning;
  bool ll128{};                                                                  ///< NCCL uses it by itself
  std::map<std::pair<std::pair<Operation, Algorithm>, int>, Loaded> alone, all;  ///< first group; every group
  std::map<std::pair<const std::vector<LinkLoad>*, Protocol>, SharedLoads> on_wire;
};

struct VectorHash {
  std::size_t operator()(const std::vector<int>& values) const {
    std::size_t hash = values.size();
    for (const int value : values) hash = hash * 1099511628211U + static_cast<std::size_t>(value);
    return hash;
  }
};

double positive_or(double value, double otherwise) { return value > 0 ? value : otherwise; }

/// Time alone and latency of a plan, and the rate at which the payload moves in what is left; a line through
/// measured times may be all latency.
void set_time(CollectivePlan& plan, Seconds latency, Seconds time, Bytes payload) {
  constexpr double least_share = 1e-6;
  plan.time_alone = time;
  plan.latency = std::min(latency, (1 - least_share) * time);
  plan.rate_ceiling = BytesPerSecond(payload.value / (time - plan.latency).value);
}

/// CPU time by size where it was measured above zero.
std::optional<FittedCurve> cpu_curve(const MeasuredCollective& entry) {
  std::vector<std::pair<Bytes, Seconds>> points;
  for (const auto& point : entry.cpu_points)
    if (point.second > Seconds(0)) points.push_back(point);
  if (points.empty()) return {};
  return FittedCurve(std::move(points));
}

}  // namespace

struct CollectiveModel::Implementation {
  Implementation(std::shared_ptr<const Cluster> shared, const Profile& profile,
                 const CollectiveOptions& options)
      : cluster(std::move(shared)),
        links(profile.links),
        measured(profile.collectives),
        nccl(options.nccl),
        compute_capability(static_cast<int>(std::lround(10 * profile.gpu.compute_capability.value))),
        paths(*cluster),
        loads(paths),
        rates(*cluster,
              options.links_of_class.empty() ? std::vector<LinkProfile>{links} : options.links_of_class,
              options.nccl.tuned_sockets) {}

  GroupSet& groups_of(const std::vector<Group>& groups);
  const Loaded& loaded(GroupSet& set, bool all, Operation operation, Algorithm algorithm, int lanes_at_most);
  Estimate estimate(GroupSet& set, Operation operation, Bytes payload, const Way& way,
                    const CollectiveForce& force);
  /// Bus bandwidth that rings of the first node's members alone reach over NVLink.
  double rings_inside(GroupSet& set) const;
  /// As NCCL chooses: by its own model where it has one, else by the least time.
  Estimate chosen(GroupSet& set, Operation operation, Bytes payload, const CollectiveForce& force);
  SharedLoads on_wire(GroupSet& set, const SharedLoads& loads, Protocol protocol);
  /// Channels that a large message uses if nothing bounds them, and what bounds them (0: nothing).
  [[nodiscard]] int own_channels(const GroupSet& set, Algorithm algorithm, int lanes) const;
  [[nodiscard]] int bound_of_channels(const CollectiveForce& force) const;
  /// Channels of a message between nodes.
  [[nodiscard]] int network_peer_channels(const GroupSet& set, const CollectiveForce& force) const;
  [[nodiscard]] int channels_of(const GroupSet& set, const Way& way, Bytes payload, int lanes,
                                const CollectiveForce& force) const;
  [[nodiscard]] double rate_beside(std::span<const BackgroundFlow> others, const std::vector<LinkLoad>& own,
                                   double alone) const;
  /// Latency, rate and time of a call by the profile's measured collectives, where they bear on it.
  void use_measured(CollectivePlan& plan, GroupSet& set, Operation operation, Bytes payload, double& relief);
  void use_points(CollectivePlan& plan, GroupSet& set, Operation operation, Bytes payload,
                  const MeasuredCollective& entry);
  void use_extrapolated(CollectivePlan& plan, GroupSet& set, Operation operation, Bytes payload,
                        const MeasuredCollective& relative);

  std::shared_ptr<const Cluster> cluster;
  LinkProfile links;
  std::vector<MeasuredCollective> measured;
  NcclOptions nccl;
  int compute_capability;
  NodePaths paths;
  LinkLoads loads;
  LinkRates rates;
  std::unordered_map<std::vector<int>, GroupSet, VectorHash> sets;
};

GroupSet& CollectiveModel::Implementation::groups_of(const std::vector<Group>& groups) {
  std::vector<int> key{static_cast<int>(groups.front().ranks.size())};
  for (const auto& group : groups) key.insert(key.end(), group.ranks.begin(), group.ranks.end());
  const auto [entry, fresh] = sets.try_emplace(std::move(key));
  GroupSet& set = entry->second;
  if (!fresh) return set;
  for (const auto& group : groups) {
    STEPCAST_CHECK(group.ranks.size() == groups.front().ranks.size(), "groups of one call differ in size");
    set.shapes.push_back(shape_of(group, *cluster));
  }
  const GroupShape& first = set.shapes.front();
  GroupTraits& traits = set.traits;
  traits.ranks = first.ranks;
  traits.nodes = first.node_count();
  traits.per_node = first.per_node();
  traits.gpudirect = paths.gpudirect();
  set.regular = first.ranks == traits.nodes * traits.per_node;
  traits.nvlink = traits.per_node > 1;
  set.reducing_switch = set.nvswitch = true;
  std::set<std::pair<int, std::vector<int>>> seen;  // nodes with the same members of one class are alike
  for (const auto& node : first.nodes) {
    if (!seen.emplace(cluster->node_class(node.node), node.locals).second) continue;
    const NodeSpec& spec = cluster->node_spec(node.node);
    set.nvswitch = set.nvswitch && spec.nvlink == NodeSpec::Nvlink::fabric_switch;
    set.reducing_switch = set.reducing_switch && set.nvswitch && spec.nvlink_sharp;
    if (!traits.nvlink) continue;
    for (const auto& lane : node_lanes(paths, node.node, node.locals, traits.nodes > 1))
      for (std::size_t i = 0; i + 1 < lane.order.size(); ++i)
        traits.nvlink = traits.nvlink && paths.all_nvlink(node.node, paths.between(node.node, lane.order[i],
                                                                                   lane.order[i + 1]));
  }
  if (traits.ranks > 1) {
    NcclCommunicator communicator = describe_communicator(nccl_tuning_constants(nccl.version), paths, loads,
                                                          first, traits, compute_capability);
    constexpr int hopper = 90, volta = 70;
    communicator.nvls = set.reducing_switch && traits.nvlink && compute_capability >= hopper;
    communicator.collnet = nccl.collnet && cluster->request().fabric.sharp;
    set.ll128 = compute_capability >= volta && communicator.nvlink && communicator.near_nics;
    set.tuning.emplace(nccl_tuning_constants(nccl.version), communicator);
  }
  return set;
}

const Loaded& CollectiveModel::Implementation::loaded(GroupSet& set, bool all, Operation operation,
                                                      Algorithm algorithm, int lanes_at_most) {
  auto& cache = all && set.shapes.size() > 1 ? set.all : set.alone;
  const auto [entry, fresh] = cache.try_emplace({{operation, algorithm}, lanes_at_most});
  Loaded& result = entry->second;
  if (!fresh) return result;
  result.facts = &cache == &set.all ? loads.of(operation, algorithm, set.shapes, lanes_at_most)
                                    : loads.of(operation, algorithm, {set.shapes.front()}, lanes_at_most);
  result.limits = rates.limits(result.facts.loads);
  result.simple = std::make_shared<const std::vector<LinkLoad>>(std::move(result.facts.loads));
  return result;
}

int CollectiveModel::Implementation::own_channels(const GroupSet& set, Algorithm algorithm, int lanes) const {
  return std::clamp(std::max(set.tuning->most_channels(algorithm), lanes), 1, nccl_constants().most_channels);
}

int CollectiveModel::Implementation::bound_of_channels(const CollectiveForce& force) const {
  return force.channels > 0 ? force.channels : nccl.max_channels;
}

int CollectiveModel::Implementation::network_peer_channels(const GroupSet& set,
                                                           const CollectiveForce& force) const {
  const int bound = bound_of_channels(force);
  const int own =
      nccl.channels_per_net_peer > 0 ? nccl.channels_per_net_peer : set.tuning->channels_per_net_peer();
  return bound > 0 ? std::min(bound, own) : own;
}

int CollectiveModel::Implementation::channels_of(const GroupSet& set, const Way& way, Bytes payload,
                                                 int lanes, const CollectiveForce& force) const {
  const int limit = nccl_constants().most_channels;
  if (force.channels > 0) return std::min(force.channels, limit);
  int most = std::max(own_channels(set, way.algorithm, lanes), std::min(nccl.min_channels, limit));
  if (nccl.max_channels > 0) most = std::min(most, nccl.max_channels);
  return set.tuning->channels(way, payload.value, most);
}

double CollectiveModel::Implementation::rings_inside(GroupSet& set) const {
  if (set.rings_inside > 0) return set.rings_inside;
  const NodeMembers& first = set.shapes.front().nodes.front();
  const int ranks = static_cast<int>(first.locals.size());
  const auto inside = loads.of(Operation::all_reduce, Algorithm::ring, {GroupShape{ranks, {first}}}, 0);
  set.rings_inside =
      rates.limits(inside.loads).nvlink_usable * ring_bytes_per_hop(Operation::all_reduce, ranks);
  return set.rings_inside;
}

Estimate CollectiveModel::Implementation::estimate(GroupSet& set, Operation operation, Bytes payload,
                                                   const Way& way, const CollectiveForce& force) {
  const NcclConstants& constants = nccl_constants();
  const int bound = bound_of_channels(force);
  const Loaded& call = loaded(set, false, operation, way.algorithm, bound);
  const RateLimits& limits = call.limits;
  const double wire = constants.wire.of(way.protocol), share = constants.rate_share.of(way.protocol);

  // The channels together carry what the links inside a node could at their raw rate; fewer carry their part.
  double ceiling = limits.node_raw / wire;
  if (bound > 0)
    ceiling *= std::min(1.0, static_cast<double>(bound) / own_channels(set, way.algorithm, call.facts.lanes));
  ceiling = std::min({ceiling, rates.socket_ceiling(limits) / wire, rates.staging_ceiling(limits) / wire,
                      rates.staged_gpu_ceiling(limits, set.traits.per_node) / wire});
  if (set.traits.per_node > 1) ceiling = std::min(ceiling, limits.staged_duplex / wire);
  switch (way.algorithm) {
    case Algorithm::nvls:
      ceiling = std::min(ceiling, limits.in_switch);
      break;
    case Algorithm::nvls_tree:
      ceiling = std::min(ceiling, constants.nvls_tree_share * limits.in_switch);
      break;
    case Algorithm::collnet_direct:
    case Algorithm::collnet_chain:
      ceiling = std::min(ceiling, constants.collnet_share * limits.usable);
      break;
    case Algorithm::tree: {
      double inside = limits.nvlink_usable;
      if (set.traits.nvlink && set.traits.per_node > 2) {  // a pair has no GPU inside its chain
        inside = constants.tree_node_share * rings_inside(set);
      }
      inside *= positive_or(links.tree_efficiency.value, 1);
      ceiling = std::min(ceiling, share * std::min(inside, limits.usable));
      break;
    }
    case Algorithm::direct:
      if (operation == Operation::send_recv && set.traits.nodes > 1)
        ceiling =
            std::min(ceiling, network_peer_channels(set, force) * constants.peer_channel_rate.value / wire);
      ceiling =
          std::min(ceiling, share * (operation == Operation::all_to_all ? constants.all_to_all_share : 1) *
                                limits.usable);
      break;
    default:
      if (way.protocol != Protocol::simple) ceiling = std::min(ceiling, share * limits.usable);
      break;
  }

  GroupTraits traits = set.traits;
  const FabricSpec& fabric = cluster->request().fabric;
  traits.network_latency = (traits.gpudirect ? fabric.link_latency : fabric.staged_latency) +
                           call.facts.further_switches * fabric.switch_latency;
  Estimate result;
  result.way = way;
  result.ceiling = BytesPerSecond(ceiling);
  result.rate = BytesPerSecond(std::min(ceiling, limits.usable / wire));
  const Seconds transfer = payload / result.rate;
  const Seconds start = start_latency(constants, operation, way.algorithm, way.protocol, traits);
  result.latency = start + links.base_latency.value;
  const double factor = fill_factor(constants, operation, way.protocol, traits.nvlink);
  result.latency += fill_time(constants, factor, start, transfer);
  result.time = result.latency + transfer;
  return result;
}

Estimate CollectiveModel::Implementation::chosen(GroupSet& set, Operation operation, Bytes payload,
                                                 const CollectiveForce& force) {
  const NodeTraits node{set.reducing_switch && set.traits.nvlink,
                        set.regular,
                        set.nvswitch,
                        nccl.collnet && cluster->request().fabric.sharp,
                        nccl_tuning_constants(nccl.version).pat,
                        set.ll128};
  const auto ways = possible_ways(operation, set.traits, node, nccl, force);
  if (cluster->request().node.host_device) {
    // Gloo, not NCCL: rings of plain messages, whatever their size.
    for (const Way& way : ways)
      if (way.algorithm == Algorithm::ring && way.protocol == Protocol::simple)
        return estimate(set, operation, payload, way, force);
  }
  const bool rated =
      ways.front().algorithm != Algorithm::direct && ways.front().algorithm != Algorithm::hierarchical;
  if (rated)
    if (const auto way = set.tuning->cheapest(operation, ways, payload.value))
      return estimate(set, operation, payload, *way, force);
  Estimate best;
  best.time = Seconds(std::numeric_limits<double>::infinity());
  for (const Way& way : ways) {
    const Estimate candidate = estimate(set, operation, payload, way, force);
    if (candidate.time < best.time) best = candidate;
  }
  return best;
}

SharedLoads CollectiveModel::Implementation::on_wire(GroupSet& set, const SharedLoads& simple,
                                                     Protocol protocol) {
  const double factor = nccl_constants().wire.of(protocol);
  if (factor == 1) return simple;
  SharedLoads& scaled = set.on_wire[{simple.get(), protocol}];
  if (!scaled) {
    auto copy = *simple;
    for (auto& load : copy) load.weight *= factor;
    scaled = std::make_shared<const std::vector<LinkLoad>>(std::move(copy));
  }
  return scaled;
}

/// The call's fair share beside flows of other jobs; `alone` is its rate without them.
double CollectiveModel::Implementation::rate_beside(std::span<const BackgroundFlow> others,
                                                    const std::vector<LinkLoad>& own, double alone) const {
  std::vector<Resource> resources;
  std::map<int, int> resource_of;
  std::vector<std::vector<Load>> uses(others.size() + 1);
  std::vector<double> ceilings{alone};
  for (std::size_t i = 0; i < others.size(); ++i) {
    for (const FlowShare& way : others[i].links) {
      const auto [place, fresh] = resource_of.try_emplace(way.link, static_cast<int>(resources.size()));
      if (fresh) resources.push_back({rates.usable(way.link).value, way.link, 1});
      uses[i + 1].push_back({place->second, way.share});
    }
    ceilings.push_back(others[i].rate ? others[i].rate->value : std::numeric_limits<double>::infinity());
  }
  for (const LinkLoad& load : own)
    if (const auto place = resource_of.find(load.link); place != resource_of.end())
      uses.front().push_back({place->second, load.weight});
  std::vector<Demand> demands;
  for (std::size_t i = 0; i < uses.size(); ++i) demands.push_back({uses[i], ceilings[i]});
  std::vector<double> shares;
  fair_share(resources, demands, shares);
  return shares.front();
}

void CollectiveModel::Implementation::use_measured(CollectivePlan& plan, GroupSet& set, Operation operation,
                                                   Bytes payload, double& relief) {
  const ClusterRequest& request = cluster->request();
  const auto match =
      find_measured(measured, {name_of(operation), set.traits.ranks, set.traits.nodes, set.traits.per_node,
                               request.fabric.name, request.node.name, request.fabric.link_rate});
  if (match.entry != nullptr) {
    use_points(plan, set, operation, payload, *match.entry);
  } else if (match.relative != nullptr) {
    plan.extrapolated = true;
    // With other ranks NCCL changes its algorithm, which its model knows and a measured curve does not.
    if (match.other_ranks && !request.node.host_device) return;
    use_extrapolated(plan, set, operation, payload, *match.relative);
  } else {
    return;
  }
  const double limit = loaded(set, false, operation, plan.algorithm, 0).limits.usable /
                       nccl_constants().wire.of(plan.protocol);
  relief = std::min(1.0, limit / plan.rate_ceiling.value);
}

/// A measured time T at size S fixes, with the model's own latency L and time M of the same call and r = T /
/// M, latency r L and a top rate of S / (T - r L). On hosts, where no NCCL chooses, a line through the points
/// is the model.
void CollectiveModel::Implementation::use_points(CollectivePlan& plan, GroupSet& set, Operation operation,
                                                 Bytes payload, const MeasuredCollective& entry) {
  const FittedCurve curve(entry.points);
  if (cluster->request().node.host_device) {
    const Seconds time = curve.at(payload);
    set_time(plan, (time / curve.line(payload)) * curve.latency(), time, payload);
  } else {
    std::vector<std::pair<Bytes, double>> ratios;
    for (const auto& [size, time] : entry.points)
      ratios.emplace_back(size, time / chosen(set, operation, size, {}).time);
    const Estimate model = chosen(set, operation, payload, {});
    const double ratio = interpolate_ratio(ratios, payload);
    const auto exact = std::find_if(entry.points.begin(), entry.points.end(),
                                    [&](const auto& point) { return point.first == payload; });
    const Seconds time = exact != entry.points.end() ? exact->second : ratio * model.time;
    set_time(plan, ratio * model.latency, time, payload);
  }
  plan.measured = true;
  if (const auto cpu = cpu_curve(entry)) plan.host_share = std::min(1.0, cpu->at(payload) / plan.time_alone);
}

void CollectiveModel::Implementation::use_extrapolated(CollectivePlan& plan, GroupSet& set,
                                                       Operation operation, Bytes payload,
                                                       const MeasuredCollective& relative) {
  const FabricSpec& fabric = cluster->request().fabric;
  const double wire_bytes = nccl_constants().wire.of(plan.protocol);
  Conditions asked{operation, relative.ranks, set.traits.ranks, 0, 0};
  asked.wire = wire_bytes / loaded(set, false, operation, plan.algorithm, 0).limits.network;
  // What a card offered where it was measured, over what it offers here.
  const auto offered = [&](BytesPerSecond line) {
    const double rate = positive_or(fabric.efficiency, 1) * line.value;
    return fabric.host_copy_rate.value > 0 ? std::min(rate, fabric.host_copy_rate.value) : rate;
  };
  const BytesPerSecond measured_rate = relative.link_rate.value_or(fabric.link_rate);
  const double hops =
      ring_shape(operation, relative.ranks).bytes / ring_shape(operation, set.traits.ranks).bytes;
  asked.measured_wire = asked.wire * hops * offered(fabric.link_rate) / offered(measured_rate);
  const ExtrapolatedTime found = extrapolate(FittedCurve(relative.points), payload, asked);
  set_time(plan, found.latency, found.time, payload);
  if (const auto cpu = cpu_curve(relative))
    plan.host_share = std::min(1.0, extrapolate_cpu(*cpu, payload, asked) / found.time);
}

CollectiveModel::CollectiveModel(std::shared_ptr<const Cluster> cluster, const Profile& profile,
                                 const CollectiveOptions& options)
    : implementation_(std::make_unique<Implementation>(std::move(cluster), profile, options)) {}

CollectiveModel::~CollectiveModel() = default;

CollectivePlan CollectiveModel::plan(Operation operation, Bytes payload, const std::vector<Group>& groups,
                                     const CollectiveForce& force) const {
  STEPCAST_CHECK(!groups.empty() && !groups.front().ranks.empty(), "a collective without ranks");
  Implementation& self = *implementation_;
  CollectivePlan plan;
  if (groups.front().ranks.size() == 1 || payload.value <= 0) {
    static const auto none = std::make_shared<const std::vector<LinkLoad>>();
    plan.algorithm = force.algorithm;
    plan.protocol = force.protocol;
    plan.rate_ceiling = BytesPerSecond(std::numeric_limits<double>::max());
    plan.loads = none;
    return plan;
  }
  const NcclConstants& constants = nccl_constants();
  GroupSet& set = self.groups_of(groups);
  // NCCL chooses for its own communicator, whatever else moves; so that folded and unfolded runs choose
  // alike, too.
  const Estimate best = self.chosen(set, operation, payload, force);
  plan.algorithm = best.way.algorithm;
  plan.protocol = best.way.protocol;
  plan.latency = best.latency;
  plan.rate_ceiling = best.ceiling;
  double relief = 1;
  const bool chosen_freely =
      force.algorithm == Algorithm::automatic && force.protocol == Protocol::automatic && force.channels == 0;
  if (chosen_freely) self.use_measured(plan, set, operation, payload, relief);

  const Loaded& all = self.loaded(set, true, operation, plan.algorithm, self.bound_of_channels(force));
  plan.loads = self.on_wire(set, all.simple, plan.protocol);
  double limit = all.limits.usable / constants.wire.of(plan.protocol);
  if (relief < 1) {
    auto lighter = *plan.loads;
    for (auto& load : lighter) load.weight *= relief;
    plan.loads = std::make_shared<const std::vector<LinkLoad>>(std::move(lighter));
    limit /= relief;
  }
  // A measured group alone takes its measured time to the last bit.
  // Beside other jobs' flows nothing is alone.
  const auto others = self.cluster->background_flows();
  if (!plan.measured || groups.size() > 1 || !others.empty()) {
    double rate = std::min(plan.rate_ceiling.value, limit);
    if (!others.empty()) rate = self.rate_beside(others, *plan.loads, rate);
    plan.time_alone = plan.latency + payload / BytesPerSecond(rate);
  }

  plan.channels = self.channels_of(set, best.way, payload, all.facts.lanes, force);
  if (operation == Operation::send_recv && set.traits.nodes > 1)
    plan.channels = std::min(plan.channels, self.network_peer_channels(set, force));
  plan.sms = self.cluster->request().node.host_device ? 0 : plan.channels;
  const bool nvls = plan.algorithm == Algorithm::nvls || plan.algorithm == Algorithm::nvls_tree;
  const double sent =
      plan.algorithm == Algorithm::tree ? 2.0 : ring_bytes_per_hop(operation, set.traits.ranks);
  // The core that moves a host's bytes does nothing else meanwhile, as its measured share says already.
  if (plan.host_share <= 0)
    plan.memory_per_byte = nvls ? constants.nvls_passes : constants.ring_passes * sent;
  return plan;
}

BytesPerSecond CollectiveModel::usable_capacity(int link) const {
  return implementation_->rates.usable(link);
}

const Cluster& CollectiveModel::cluster() const { return *implementation_->cluster; }

BytesPerSecond CollectiveModel::bus_bandwidth(Operation operation, Bytes payload, int ranks, Seconds time) {
  if (ranks <= 1 || time.value <= 0) return BytesPerSecond{};
  const double factor = operation == Operation::all_to_all ? static_cast<double>(ranks - 1) / ranks
                                                           : ring_bytes_per_hop(operation, ranks);
  return BytesPerSecond(factor * payload.value / time.value);
}

}  // namespace stepcast
