#pragma once

#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/collective/collective.hpp"
#include "sim/collective/group_shape.hpp"
#include "sim/collective/node_lanes.hpp"
#include "sim/collective/node_paths.hpp"

namespace stepcast {

/// What a call asks of the links, per byte of its payload.
struct CallLoads {
  std::vector<LinkLoad> loads;  ///< by link number, none of weight 0
  int lanes{1};                 ///< rings that share the payload; NICs in use across nodes
  double further_switches{};    ///< mean over the steps across nodes, beyond the first switch
};

/// What one rank sends to another in a call.
struct Message {
  int from{}, to{};  ///< global ranks
  int lane{};        ///< of the ring or tree; 0 for direct
  int tree{-1};     ///< 0 or 1 between the nodes of a tree; -1: inside a node, where both trees take this way
  bool down{};      ///< a tree's way back from the root
  double weight{};  ///< bytes per byte of payload
  std::vector<LinkLoad> loads;  ///< bytes over each link per byte of payload; a link may come twice
};

/// Computes the bytes that an algorithm sends over each link. n ranks on N nodes, S the payload, w the bytes
/// that a ring sends over each of its hops: all_reduce 2 (n-1)/n S, all_gather and reduce_scatter (n-1)/n S,
/// broadcast and reduce S (and nothing on the hop that closes the ring at the root, the first rank).
///
/// - ring: each lane (node_lanes) carries w / lanes over every hop; nodes in communicator order.
/// - tree: two binary trees over the nodes, each carrying half of S up and down each of its edges, dealt out
/// over the
///   NICs; inside a node a chain from the GPU at the NIC, S both ways.
/// - nvls: every GPU sends and receives S (1 + 1/n) over its links to the switch (bus bandwidth u
/// 2(n-1)/(n+1) of 5 to 8 H200 and B200); for an all_gather it sends its S/n once and receives S, for a
/// reduce_scatter the reverse. Across nodes with network reduction as collnet.
/// - nvls_tree: the same with n of the node, and the tree's bytes between the nodes.
/// - collnet: the NICs of a node together carry S up and S down (all_gather: the node's part up, S down;
/// reduce_scatter the reverse), and a leaf S to the root of each NIC's tree and back; inside the node a chain
/// (S both ways) or, direct, reduce-scatter and all-gather over the NVSwitch.
/// - pat: one rank per node; in step k of an all_gather a rank sends the blocks of 2^k ranks, as many as are
/// still missing, to the rank 2^k places on; a reduce_scatter the reverse.
/// - hierarchical: rings inside the nodes with w of n/N ranks, and for each local rank a ring over the nodes
/// on its
///   share of S, through its own NICs.
/// - direct: all_to_all sends S/n from each rank to each other one; send_recv S from each rank to the next
/// one.
///
/// Sources: NCCL's rings and double trees (NVIDIA/nccl src/graph/{rings,trees}.cc); bytes of a ring:
/// nccl-tests doc/PERFORMANCE.md.
class LinkLoads {
 public:
  explicit LinkLoads(const NodePaths& paths) : paths_(paths) {}

  /// @param lanes_at_most  0: no bound; else (forced channels) only so many lanes are used
  [[nodiscard]] CallLoads of(Operation operation, Algorithm algorithm, const std::vector<GroupShape>& groups,
                             int lanes_at_most) const;
  /// The same, message by message, of one group. In-switch reductions have none.
  [[nodiscard]] std::vector<Message> messages(Operation operation, Algorithm algorithm,
                                              const GroupShape& group, int lanes_at_most) const;

 private:
  struct Sum;  ///< weights of one call while they add up
  /// As many lanes as the node with the fewest has, as NCCL's channels are; through the NICs that all nodes
  /// have in common where those suffice, else in each node's own order.
  struct LaneChoice {
    int count{};
    std::vector<int> nics;  ///< by lane; empty: each node's own order
  };
  [[nodiscard]] LaneChoice choose_lanes(const GroupShape& group, int lanes_at_most) const;
  [[nodiscard]] static const Lane& lane(const std::vector<Lane>& own, const LaneChoice& choice, int number);
  const std::vector<Lane>& lanes(const NodeMembers& node, bool across_nodes) const;

  void add(Sum& sum, Operation operation, Algorithm algorithm, const GroupShape& group,
           int lanes_at_most) const;
  void ring(Sum& sum, Operation operation, const GroupShape& group, int lanes_at_most) const;
  void tree(Sum& sum, const GroupShape& group, int lanes_at_most) const;
  void tree_across(Sum& sum, const GroupShape& group, const LaneChoice& choice) const;
  void nvls(Sum& sum, Operation operation, Algorithm algorithm, const GroupShape& group,
            int lanes_at_most) const;
  void collnet(Sum& sum, Operation operation, Algorithm algorithm, const GroupShape& group,
               int lanes_at_most) const;
  void network_reduction(Sum& sum, Operation operation, const GroupShape& group, int lanes_at_most) const;
  void add_switch_links(Sum& sum, const NodeMembers& node, double up_weight, double down_weight) const;
  void pat(Sum& sum, Operation operation, const GroupShape& group) const;
  void hierarchical(Sum& sum, Operation operation, const GroupShape& group) const;
  void all_to_all(Sum& sum, const GroupShape& group) const;
  void send_recv(Sum& sum, const GroupShape& group) const;

  const NodePaths& paths_;
  mutable std::map<std::tuple<int, std::vector<int>, bool>, std::vector<Lane>> lanes_;  ///< by class of nodes
  mutable std::vector<double> zeros_;  ///< by link, for the sums of one call
};

/// Bytes over each hop of a ring of `ranks` per byte of payload.
[[nodiscard]] double ring_bytes_per_hop(Operation operation, int ranks);

/// Child and parent of every edge of two binary trees over `nodes` that share the work: a node inside one of
/// them is a leaf of the other. The first tree hangs every number under the nearest multiple of the next
/// power of two; the second one is its mirror image (even number of nodes) or the first one moved by one
/// place (odd). Edges of the two trees alternate.
struct TreeEdge {
  int child{}, parent{};
};
[[nodiscard]] std::vector<TreeEdge> double_tree(int nodes);

}  // namespace stepcast
