#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "topology/import/node_draft.hpp"

namespace stepcast {

/// What is known of a GPU by its profile's name, each figure with its source.
struct KnownGpu {
  std::string profile;
  std::vector<std::string> device_ids;       ///< "0x2330"
  std::string node;                          ///< a shipped node that has it; may be empty
  std::optional<Sourced<int>> nvlink_links;  ///< of one GPU in all
  std::optional<Sourced<BytesPerSecond>> nvlink_rate_per_link, pcie_rate;
  std::optional<Sourced<bool>> peer_to_peer, gpudirect, sharp;
};

/// A GPU that is no profile's, and the profile that is nearest to it.
struct OtherGpu {
  std::string name, like;
  std::vector<std::string> device_ids;
};

[[nodiscard]] const std::vector<KnownGpu>& known_gpus();
[[nodiscard]] const KnownGpu* known_gpu(const std::string& profile);
[[nodiscard]] const KnownGpu* known_gpu_by_device(const std::string& device_id);
[[nodiscard]] const OtherGpu* other_gpu_by_device(const std::string& device_id);
/// The most NVLinks that a known GPU has.
[[nodiscard]] int most_nvlinks_known();

/// Rate of a PCIe link of one direction: 16 GT/s and width 16 -> 31.5 GB/s. Nothing for a speed that no
/// generation has.
[[nodiscard]] std::optional<BytesPerSecond> pcie_rate(double gigatransfers, int width);
/// Speed and width that carry `rate` within 1 %; nothing when no x1, x2, x4, x8, x16 does.
struct PcieLink {
  double gigatransfers{};
  int width{};
};
[[nodiscard]] std::optional<PcieLink> pcie_link_of(BytesPerSecond rate);
[[nodiscard]] PcieLink nearest_pcie_link(BytesPerSecond rate);

/// Data rate of one InfiniBand lane: "HDR" -> 50 Gb/s. Nothing for other words.
[[nodiscard]] std::optional<BytesPerSecond> infiniband_lane_rate(const std::string& speed);

}  // namespace stepcast
