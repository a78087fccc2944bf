#pragma once

#include <memory>
#include <span>
#include <vector>

#include "topology/cluster.hpp"

namespace stepcast {

/// Which links a path may use.
enum class Reach {
  nvlink,  ///< NVLink alone
  bus,     ///< everything but NVLink: PCIe, host, network. A GPU is then never passed through
  all
};

/// Cheapest paths over directed links. One hop costs, by kind, NVLink 1, PCIe 100, host 10,000, network
/// 1,000,000, so that a path avoids every slower kind that it can avoid; among equals the one with faster
/// links wins.
class PathSearch {
 public:
  /// All paths from one device: per device the last link of its cheapest path (-1: none) and the cost.
  struct Row {
    std::vector<int> last_link;
    std::vector<double> cost;  ///< infinity: not reachable
  };

  PathSearch(int devices, std::span<const Link> links);
  ~PathSearch();
  PathSearch(PathSearch&&) noexcept;
  PathSearch& operator=(PathSearch&&) noexcept;

  [[nodiscard]] Row from(int device, Reach reach) const;
  /// Links of the path from the row's source to `to`, in order. Empty when it is the source or cannot be
  /// reached.
  [[nodiscard]] std::vector<int> path(const Row& row, int to) const;

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace stepcast
