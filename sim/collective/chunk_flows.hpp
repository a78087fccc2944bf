#pragma once

#include <vector>

#include "sim/collective/link_loads.hpp"
#include "sim/engine/flow_set.hpp"

namespace stepcast {

/// What the chunks of one call have in common.
struct ChunkRules {
  double payload{};         ///< bytes S
  double load_factor{};     ///< bytes on a link per byte that a message loads it with
  double rate_ceiling{};    ///< payload bytes per second
  Picoseconds once{};       ///< before the first step
  Picoseconds filling{};    ///< part of `once` that stands for the filling of a pipeline
  Picoseconds all_steps{};  ///< latency of all steps after each other
};

/// Every rank of every lane sends and receives in each of `steps` steps. Messages form rings, one a lane.
void add_ring_steps(FlowSet& set, const std::vector<Message>& messages, int steps, const ChunkRules& rules);

/// A part of the payload that moves in chunks from hop to hop, by its messages: each one needs what arrives
/// at its sender; on a tree's way down, the root needs what arrives on the way up.
struct Stream {
  std::vector<int> messages;              ///< those that feed others first
  std::vector<std::vector<int>> feeders;  ///< by place in `messages`: places
  std::vector<double> weights;            ///< by place: bytes per byte of payload
  int depth{};                            ///< hops of the longest way
};

/// The streams of a chain (broadcast, reduce) or of the two trees, for each lane.
[[nodiscard]] std::vector<Stream> streams_of(const std::vector<Message>& messages);

/// What the chunks themselves take to fill the stream's pipeline comes out of rules.filling, so that it is
/// not paid twice.
void add_stream(FlowSet& set, const std::vector<Message>& messages, const Stream& stream, int chunks,
                const ChunkRules& rules);

/// All messages at once.
void add_messages(FlowSet& set, const std::vector<Message>& messages, const ChunkRules& rules);

}  // namespace stepcast
