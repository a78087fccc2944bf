#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/units.hpp"

namespace stepcast {

/// Where a process stands among those that were started together.
struct RankPlace {
  int rank{}, size{1};
  int local_rank{}, local_size{1};  ///< among the ranks of its node
  int node{}, nodes{1};             ///< nodes are numbered in the order of their first rank
  std::string host;                 ///< its node's name
  std::string launcher;             ///< "mpirun", "srun", "torchrun", "script", "none"
  std::vector<int> node_of_rank;
  std::vector<std::string> host_of_rank;
};

/// Where ranks find each other, read from the environment (SLURM_*, OMPI_*, PMI_*, RANK / WORLD_SIZE /
/// MASTER_ADDR); pure, for tests.
struct Rendezvous {
  int rank{}, size{1};
  std::string address;  ///< host name or address of rank 0; empty: alone, or MPI tells it
  int port{};           ///< 0: rank 0 takes any, which MPI tells
  std::string job;      ///< what the ranks of one job have in common, so that two jobs don't mix
  std::string launcher{"none"};
};
/// @throws MachineError naming the variable that is missing or wrong, and what to set
[[nodiscard]] Rendezvous read_rendezvous(const std::map<std::string, std::string>& environment);

/// Ranks that have met over TCP: rank 0 serves a store of texts and watches the others. A rank that ends,
/// falls silent, or stays longer in a piece of work than it announced ends all: rank 0 prints which rank, on
/// which host, in which piece of work, runs its `on_abort`, and every process ends with code 3, whatever its
/// main thread waits for. SIGINT on any rank ends all with 130. Ranks that have lost rank 0 say that
/// themselves. A meeting that is destroyed while an exception unwinds counts as abandoned. Costs one wake-up
/// a second; put() and doing() some twenty microseconds: call them outside of what is timed.
class Meeting {
 public:
  virtual ~Meeting() = default;
  Meeting() = default;
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;

  [[nodiscard]] virtual const RankPlace& place() const = 0;
  /// Address of this rank's interface towards rank 0 (for Gloo and NCCL_SOCKET_IFNAME).
  [[nodiscard]] virtual std::string interface_address() const = 0;
  virtual void put(const std::string& key, const std::string& value) = 0;
  /// Waits until the key is there.
  [[nodiscard]] virtual std::string get(const std::string& key) = 0;
  // Called by all ranks in the same order.
  virtual void barrier() = 0;
  /// On rank 0 every rank's text, by rank; elsewhere empty.
  [[nodiscard]] virtual std::vector<std::string> gather(const std::string& text) = 0;
  [[nodiscard]] virtual std::string broadcast(const std::string& text_of_rank_0) = 0;
  /// What this rank does from now on, and for how long at most; "" ends it. Ranks that do the same together
  /// name it alike, so that the one that lags can be told from those that wait for it.
  virtual void doing(const std::string& what, Seconds at_most) = 0;
  /// Runs once, on rank 0, before an abort or SIGINT ends the process; on a thread of the meeting, whatever
  /// the main thread does then. It has ten seconds.
  virtual void on_abort(std::function<void()> keep_what_was_done) = 0;
  /// This rank can't go on: tells the others why, so that they end, too. Returns; the caller then throws.
  virtual void abandon(const std::string& why) = 0;
};

/// Of one process, or of all that the launcher started. @throws MachineError
[[nodiscard]] std::unique_ptr<Meeting> meet();

}  // namespace stepcast
