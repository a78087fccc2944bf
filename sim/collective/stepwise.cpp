#include "sim/collective/stepwise.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "sim/collective/chunk_flows.hpp"
#include "sim/collective/group_shape.hpp"
#include "sim/collective/latency.hpp"
#include "sim/collective/nccl_constants.hpp"
#include "sim/collective/node_paths.hpp"
#include "sim/engine/simulate_flows.hpp"

namespace stepcast {
namespace {

constexpr double ps_per_second = 1e12;
constexpr double most_flows = 16e6;  ///< about 700 MB
/// Share of the whole time that the chunks' own pipeline may take to fill, and where the plan has a term for
/// it.
constexpr double filling_share = 0.005, filling_share_in_term = 0.02;

Picoseconds picoseconds(Seconds time) { return std::llround(time.value * ps_per_second); }

Seconds seconds(Picoseconds time) { return Seconds(static_cast<double>(time) / ps_per_second); }

bool pipelined(Operation operation, Algorithm algorithm) {
  return algorithm == Algorithm::tree || operation == Operation::broadcast || operation == Operation::reduce;
}

void check_has_chunks(Operation operation, Algorithm algorithm) {
  if (algorithm == Algorithm::ring || algorithm == Algorithm::tree || algorithm == Algorithm::direct) return;
  std::string why = "has no chunk-by-chunk form here";
  if (algorithm == Algorithm::nvls || algorithm == Algorithm::nvls_tree)
    why = "is summed up in the switch, where no chunk goes from rank to rank";
  throw std::invalid_argument(std::string(name_of(operation)) + " as " + std::string(name_of(algorithm)) +
                              " " + why + ": force ring or tree to see it step by step");
}

void check_size(double flows) {
  if (flows <= most_flows) return;
  throw std::invalid_argument("step by step this call is " + std::to_string(std::llround(flows / 1e6)) +
                              " million flows, more than " + std::to_string(std::llround(most_flows / 1e6)) +
                              " million: take fewer ranks or groups, or the fluid model");
}

/// Takes the plan's latency apart: the base and the pipeline's filling, which a call pays once, and what its
/// hops take. The latency of next to no payload has no filling in it. Measured latencies keep the model's
/// proportions.
void split_latency(ChunkRules& rules, const CollectiveModel& model, const CollectivePlan& plan,
                   Operation operation, Bytes payload, const Group& group, const CollectiveForce& way) {
  const Seconds whole = model.plan(operation, payload, {group}, way).latency;
  const Seconds start = model.plan(operation, Bytes(1e-6), {group}, way).latency;
  const NcclConstants& constants = nccl_constants();
  const Seconds base =
      (plan.algorithm == Algorithm::tree ? constants.tree_base : constants.ring_base).of(plan.protocol);
  const double hops = plan.algorithm == Algorithm::direct ? 0 : std::max(0.0, (start - base) / whole);
  rules.filling = picoseconds((whole - start) / whole * plan.latency);
  rules.all_steps = picoseconds(hops * plan.latency);
  rules.once = picoseconds(plan.latency) - rules.all_steps;
}

/// What the plan puts on links per byte that the messages do: the protocol's own bytes, and less where a
/// measurement says that the links carry more.
double load_factor(const CollectivePlan& plan, const std::vector<Message>& messages) {
  double planned = 0, sent = 0;
  for (const LinkLoad& load : *plan.loads) planned += load.weight;
  for (const Message& message : messages)
    for (const LinkLoad& load : message.loads) sent += load.weight;
  return sent > 0 ? planned / sent : 1;
}

std::vector<Resource> resources_of(const CollectiveModel& model) {
  std::vector<Resource> all;
  for (int link = 0; link < static_cast<int>(model.cluster().links().size()); ++link)
    all.push_back({model.usable_capacity(link).value, link, 1});
  return all;
}

/// Filling d hops with chunks of D / c takes at most (d - 1) D / c, D being the transfer.
int chunks_for(const CollectivePlan& plan, const std::vector<Stream>& streams, double groups,
               const ChunkRules& rules) {
  double hops = 0;
  int depth = 1;
  for (const Stream& stream : streams) {
    depth = std::max(depth, stream.depth);
    hops += static_cast<double>(stream.messages.size());
  }
  const Seconds transfer = plan.time_alone - plan.latency;
  const double filling =
      std::clamp(seconds(rules.filling) / plan.time_alone, filling_share, filling_share_in_term);
  const double chunks = std::max(1.0, std::ceil((depth - 1) * (transfer / plan.time_alone) / filling));
  check_size(hops * groups * chunks);
  return static_cast<int>(chunks);
}

void add_chunks(FlowSet& set, Operation operation, const CollectivePlan& plan, int ranks, double groups,
                const std::vector<Message>& messages, const ChunkRules& rules) {
  if (plan.algorithm == Algorithm::direct) {
    add_messages(set, messages, rules);
  } else if (pipelined(operation, plan.algorithm)) {
    const std::vector<Stream> streams = streams_of(messages);
    const int chunks = chunks_for(plan, streams, groups, rules);
    for (const Stream& stream : streams) add_stream(set, messages, stream, chunks, rules);
  } else {
    const int steps = ring_steps(operation, ranks);
    check_size(static_cast<double>(messages.size()) * steps * groups);
    add_ring_steps(set, messages, steps, rules);
  }
}

void add_fluid(FlowSet& set, const CollectivePlan& plan, Bytes payload) {
  std::vector<Load> loads;
  for (const LinkLoad& load : *plan.loads) loads.push_back({load.link, load.weight});
  set.add_flow(set.add_path(loads, plan.rate_ceiling.value), payload.value, picoseconds(plan.latency));
}

Seconds latest(const std::vector<Seconds>& times) { return *std::max_element(times.begin(), times.end()); }

}  // namespace

StepwiseResult stepwise(const CollectiveModel& model, Operation operation, Bytes payload,
                        const std::vector<Group>& groups, const CollectiveForce& force,
                        const std::atomic<bool>* cancel) {
  StepwiseResult result;
  result.plan = model.plan(operation, payload, groups, force);
  result.times.resize(groups.size());
  result.fluid_times.resize(groups.size());
  const int ranks = static_cast<int>(groups.front().ranks.size());
  if (ranks == 1 || payload.value <= 0) return result;
  check_has_chunks(operation, result.plan.algorithm);
  const double count = static_cast<double>(groups.size());
  if (operation == Operation::all_to_all) check_size(count * ranks * (ranks - 1.0));

  const CollectiveForce way{result.plan.algorithm, result.plan.protocol, force.channels};
  const NodePaths paths(model.cluster());
  const LinkLoads loads(paths);
  FlowSet chunks(resources_of(model)), fluid(resources_of(model));
  std::vector<int> last;  // flow after those of each group
  for (const Group& group : groups) {
    const CollectivePlan plan =
        groups.size() == 1 ? result.plan : model.plan(operation, payload, {group}, way);
    const auto messages =
        loads.messages(operation, plan.algorithm, shape_of(group, model.cluster()), force.channels);
    ChunkRules rules{payload.value, load_factor(plan, messages), plan.rate_ceiling.value, 0, 0, 0};
    split_latency(rules, model, plan, operation, payload, group, way);
    add_chunks(chunks, operation, plan, ranks, count, messages, rules);
    last.push_back(chunks.flow_count());
    add_fluid(fluid, plan, payload);
  }
  // Messages of an all_to_all are mostly alike; hashed routes make each one its own.
  const bool alike =
      result.plan.algorithm == Algorithm::direct && model.cluster().request().routing != "ecmp";
  const FlowTimes times = simulate_flows(chunks, {.group_alike = alike, .cancel = cancel});
  const FlowTimes fluid_times = simulate_flows(fluid, {.cancel = cancel});
  result.flows = chunks.flow_count();
  for (std::size_t g = 0, flow = 0; g < groups.size(); ++g) {
    Picoseconds end = 0;
    for (; flow < static_cast<std::size_t>(last[g]); ++flow) end = std::max(end, times.end[flow]);
    result.times[g] = seconds(end);
    result.fluid_times[g] = seconds(fluid_times.end[g]);
  }
  result.time = latest(result.times);
  result.fluid_time = latest(result.fluid_times);
  return result;
}

}  // namespace stepcast
