#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "sim/collective/nccl_options.hpp"
#include "sim/cost/profile.hpp"
#include "topology/cluster.hpp"

namespace stepcast {

enum class Operation { all_reduce, all_gather, reduce_scatter, broadcast, reduce, all_to_all, send_recv };
[[nodiscard]] std::string_view name_of(Operation operation);

/// Ranks of one communicator, in communicator order.
struct Group {
  std::vector<int> ranks;  ///< global ranks
};

/// Bytes over a link per byte of payload, summed over the groups of the call.
struct LinkLoad {
  int link{};
  double weight{};
};

/// How one collective call runs: what it asks of links, SMs and memory, and how long it takes alone.
struct CollectivePlan {
  Algorithm algorithm{};
  Protocol protocol{};
  int channels{};
  Seconds latency;              ///< before bytes flow at full rate (and pipeline fill), paid once
  BytesPerSecond rate_ceiling;  ///< payload bytes per second that the algorithm reaches alone at most
  std::shared_ptr<const std::vector<LinkLoad>> loads;  ///< weights against the *usable* capacity of each link
  int sms{};                                           ///< reserved on every GPU while resident
  double memory_per_byte{};                            ///< device-memory bytes per payload byte on each GPU
  double host_share{};              ///< of the rank's own core while it moves (host devices)
  Seconds time_alone;               ///< latency + payload / rate on an idle network
  bool measured{}, extrapolated{};  ///< from a profile's points
};

struct CollectiveForce {
  Algorithm algorithm{Algorithm::automatic};
  Protocol protocol{Protocol::automatic};
  int channels{};  ///< 0: automatic
};

/// What a CollectiveModel takes besides the cluster and its profile.
struct CollectiveOptions {
  std::vector<LinkProfile>
      links_of_class;  ///< by Cluster::node_class; empty: the profile's links on all nodes
  NcclOptions nccl;
};

/// How collectives load the links of one cluster. Memoizes by group set; share one between points with the
/// same cluster and profile, on one thread.
class CollectiveModel {
 public:
  CollectiveModel(std::shared_ptr<const Cluster> cluster, const Profile& profile,
                  const CollectiveOptions& options = {});
  ~CollectiveModel();

  /// `groups`: every communicator that makes this same call at the same time (all shard groups of HSDP, say);
  /// a group of sends and receives is a send_recv over groups of two, sender first;
  /// folded runs pass all of them, unfolded runs one. All have the same size.
  /// @param payload  bytes S of the *full* tensor: all_reduce buffer, gathered size, reduce_scatter input
  /// (facts 13) One rank: zero time, no loads (I3).
  [[nodiscard]] CollectivePlan plan(Operation operation, Bytes payload, const std::vector<Group>& groups,
                                    const CollectiveForce& force = {}) const;
  /// Rate that a link offers to collectives: raw capacity times the class's efficiency.
  [[nodiscard]] BytesPerSecond usable_capacity(int link) const;
  [[nodiscard]] const Cluster& cluster() const;
  /// Bus bandwidth as nccl-tests defines it (I1).
  [[nodiscard]] static BytesPerSecond bus_bandwidth(Operation operation, Bytes payload, int ranks,
                                                    Seconds time);

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace stepcast
