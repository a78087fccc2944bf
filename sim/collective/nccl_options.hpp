#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stepcast {

enum class Algorithm {
  automatic,
  ring,
  tree,
  nvls,
  nvls_tree,
  hierarchical,  ///< rings inside the nodes and over the rails; NCCL never does it by itself
  direct,        ///< point to point: all_to_all, send_recv
  collnet_direct,
  collnet_chain,
  pat
};
enum class Protocol { automatic, ll, ll128, simple };
[[nodiscard]] std::string_view name_of(Algorithm algorithm);
[[nodiscard]] std::string_view name_of(Protocol protocol);

enum class NcclVersion { v2_18, v2_21, v2_27 };
[[nodiscard]] std::string_view name_of(NcclVersion version);  ///< "2.27"

/// How NCCL is set up: its version and what its environment variables say.
struct NcclOptions {
  NcclVersion version{NcclVersion::v2_27};
  std::vector<Algorithm> algorithms;   ///< NCCL_ALGO: those that it may use; empty: all
  std::vector<Protocol> protocols;     ///< NCCL_PROTO
  int min_channels{}, max_channels{};  ///< NCCL_MIN_NCHANNELS, NCCL_MAX_NCHANNELS; 0: NCCL's own
  bool collnet{};                      ///< NCCL_COLLNET_ENABLE
  bool
      tuned_sockets{};  ///< NCCL_SOCKET_NTHREADS and NCCL_NSOCKS_PERTHREAD as the fabric's tuned count has it
  bool pxn{true};       ///< not NCCL_PXN_DISABLE
  int channels_per_net_peer{};  ///< NCCL_NCHANNELS_PER_NET_PEER; 0: NCCL's own

  friend bool operator==(const NcclOptions&, const NcclOptions&) = default;
};

/// "2.18", "2.21", "2.27"; a version between two of them counts as the older one, a newer one as the newest.
/// Nothing for text that is no version or one below 2.18.
[[nodiscard]] std::optional<NcclVersion> nccl_version_of(std::string_view text);

/// The names in a list as NCCL_ALGO takes it: "Ring,Tree" or "^NVLS" (all but these), in any case.
/// @param unknown  the first word that is none of NCCL's names
[[nodiscard]] std::vector<Algorithm> nccl_algorithms(std::string_view list, std::string& unknown);
[[nodiscard]] std::vector<Protocol> nccl_protocols(std::string_view list, std::string& unknown);

/// NCCL's own spellings, for hints.
[[nodiscard]] std::vector<std::string> nccl_algorithm_names();
[[nodiscard]] std::vector<std::string> nccl_protocol_names();

}  // namespace stepcast
