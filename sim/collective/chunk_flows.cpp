#include "sim/collective/chunk_flows.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/diagnostic.hpp"

namespace stepcast {
namespace {

/// @param weight  of the message, or of the part of it that the path is for
int add_path(FlowSet& set, const Message& message, double weight, const ChunkRules& rules) {
  std::vector<Load> loads;
  for (const LinkLoad& load : message.loads)
    loads.push_back({load.link, load.weight / message.weight * rules.load_factor});
  return set.add_path(loads, rules.rate_ceiling * weight);
}

}  // namespace

void add_ring_steps(FlowSet& set, const std::vector<Message>& messages, int steps, const ChunkRules& rules) {
  const int count = static_cast<int>(messages.size());
  std::map<std::pair<int, int>, int> into;  // message that arrives at a rank, by lane and rank
  std::vector<int> paths;
  for (int m = 0; m < count; ++m) {
    const Message& message = messages[m];
    paths.push_back(add_path(set, message, message.weight, rules));
    into[{message.lane, message.to}] = m;
  }
  const Picoseconds latency = rules.all_steps / steps;
  int previous = -1;  // first flow of the step before
  for (int step = 0; step < steps; ++step) {
    const int first = set.flow_count();
    for (int m = 0; m < count; ++m) {
      const double bytes = messages[m].weight * rules.payload / steps;
      if (step == 0) {
        set.add_flow(paths[m], bytes, rules.once + latency);
        continue;
      }
      const auto before = into.find({messages[m].lane, messages[m].from});
      STEPCAST_CHECK(before != into.end(), "a ring with an open end");
      const int waits[] = {previous + m, previous + before->second};
      set.add_flow(paths[m], bytes, latency, waits);
    }
    previous = first;
  }
}

std::vector<Stream> streams_of(const std::vector<Message>& messages) {
  std::map<std::pair<int, int>, std::vector<int>> parts;  // by lane and tree
  std::map<int, bool> has_trees;                          // by lane
  for (const Message& message : messages) has_trees[message.lane] |= message.tree >= 0;
  for (int m = 0; m < static_cast<int>(messages.size()); ++m) {
    const Message& message = messages[m];
    if (message.tree >= 0 || !has_trees[message.lane]) {
      parts[{message.lane, std::max(0, message.tree)}].push_back(m);
    } else {
      for (int tree = 0; tree < 2; ++tree) parts[{message.lane, tree}].push_back(m);
    }
  }
  std::vector<Stream> streams;
  for (const auto& [key, members] : parts) {
    const bool halves = has_trees[key.first];
    std::map<int, std::vector<int>> up, down;  // messages that arrive at each rank
    for (const int m : members) (messages[m].down ? down : up)[messages[m].to].push_back(m);
    std::map<int, int> depth;  // by message
    const auto feeding = [&](int m) -> const std::vector<int>& {
      static const std::vector<int> none;
      if (messages[m].down) {
        if (const auto found = down.find(messages[m].from); found != down.end()) return found->second;
      }
      const auto found = up.find(messages[m].from);
      return found != up.end() ? found->second : none;
    };
    // Ways are at most as long as there are messages; a message is placed when all that feed it are.
    Stream stream;
    std::map<int, int> place;
    std::vector<int> left = members;
    while (!left.empty()) {
      std::vector<int> later;
      for (const int m : left) {
        const std::vector<int>& feeders = feeding(m);
        if (!std::all_of(feeders.begin(), feeders.end(), [&](int f) { return place.count(f) > 0; })) {
          later.push_back(m);
          continue;
        }
        int hops = 0;
        stream.feeders.emplace_back();
        for (const int f : feeders) {
          hops = std::max(hops, depth[f]);
          stream.feeders.back().push_back(place[f]);
        }
        depth[m] = hops + 1;
        stream.depth = std::max(stream.depth, hops + 1);
        place[m] = static_cast<int>(stream.messages.size());
        stream.messages.push_back(m);
        const bool half = halves && messages[m].tree < 0;
        stream.weights.push_back(messages[m].weight * (half ? 0.5 : 1));
      }
      STEPCAST_CHECK(later.size() < left.size(), "a stream that feeds itself");
      left = std::move(later);
    }
    streams.push_back(std::move(stream));
  }
  return streams;
}

namespace {

/// Time of one chunk on its longest way, without that of its slowest hop: what the first chunk needs beyond a
/// stream that runs.
Picoseconds own_filling(const FlowSet& set, const Stream& stream, const std::vector<int>& paths,
                        double bytes_per_weight) {
  std::vector<double> way;
  double longest = 0, slowest = 0;
  for (std::size_t m = 0; m < paths.size(); ++m) {
    const double rate = set.paths()[static_cast<std::size_t>(paths[m])].alone_rate;
    const double hop = stream.weights[m] * bytes_per_weight / rate;
    double before = 0;
    for (const int feeder : stream.feeders[m])
      before = std::max(before, way[static_cast<std::size_t>(feeder)]);
    way.push_back(before + hop);
    longest = std::max(longest, way.back());
    slowest = std::max(slowest, hop);
  }
  return std::llround((longest - slowest) * 1e12);
}

}  // namespace

void add_stream(FlowSet& set, const std::vector<Message>& messages, const Stream& stream, int chunks,
                const ChunkRules& rules) {
  const int count = static_cast<int>(stream.messages.size());
  std::vector<int> paths;
  for (int m = 0; m < count; ++m)
    paths.push_back(add_path(set, messages[stream.messages[m]], stream.weights[m], rules));
  const Picoseconds latency = rules.all_steps / stream.depth;
  const Picoseconds once =
      rules.once - std::min(rules.filling, own_filling(set, stream, paths, rules.payload / chunks));
  std::vector<int> after, behind;
  for (int chunk = 0; chunk < chunks; ++chunk) {
    const int first = set.flow_count();
    for (int m = 0; m < count; ++m) {
      after.clear();
      behind.clear();
      for (const int feeder : stream.feeders[m]) after.push_back(first + feeder);
      if (chunk > 0) behind.push_back(first - count + m);
      set.add_flow(paths[m], stream.weights[m] * rules.payload / chunks,
                   after.empty() ? once + latency : latency, after, behind);
    }
  }
}

void add_messages(FlowSet& set, const std::vector<Message>& messages, const ChunkRules& rules) {
  for (const Message& message : messages)
    set.add_flow(add_path(set, message, message.weight, rules), message.weight * rules.payload,
                 rules.once + rules.all_steps);
}

}  // namespace stepcast
