#pragma once

#include "sim/collective/nccl_constants.hpp"

namespace stepcast {

/// What a latency depends on besides the algorithm.
struct GroupTraits {
  int ranks{1}, nodes{1};
  int per_node{1};          ///< ranks on the fullest node
  bool nvlink{};            ///< neighbours inside a node reach each other over NVLink alone
  bool gpudirect{};         ///< else network messages are staged through host memory
  Seconds network_latency;  ///< of one message between nodes, switches included (y)
};

/// Steps of a ring: all_reduce 2 (n - 1); all_gather, reduce_scatter, broadcast, reduce n - 1 (I4).
[[nodiscard]] int ring_steps(Operation operation, int ranks);

/// Time before bytes flow at full rate, without the pipeline's filling. With a the hop inside a node, x the
/// one between nodes, s the ring's steps on n ranks, k those on N nodes, p ranks per node:
///
///     ring          base + (s - k) a + k x
///     tree          base + 2 ((p - 1) a + floor(log2 N) x)
///     nvls          1.26 * 25 us; across nodes + 18 us + the network's latency
///     nvls_tree     nvls + 26 us + 2 floor(log2 N) x
///     collnet       NCCL's constants + one network hop, however many nodes: direct 2 (3.7 + (p - 1) 0.4) +
///     31 us,
///                   chain 2 (p - 1) 2.8 + 30 us
///     pat           8 us + ceil(log2 n) (14 / 3.5 us + r y) + 2.8 us n
///     hierarchical  the rings of its phases after each other
///     direct        all_to_all: base + (n - p) per remote peer + y; send_recv: base + one hop
///     x             NCCL's constant + y (LL, LL128), + r y (Simple); r = 1.3 with GPUDirect, 1.9 without
///
/// Source: NCCL's own form (NVIDIA/nccl src/graph/tuning.cc) with y and r fitted on published nccl-tests
/// tables; constants and their origin in nccl.toml.
[[nodiscard]] Seconds start_latency(const NcclConstants& constants, Operation operation, Algorithm algorithm,
                                    Protocol protocol, const GroupTraits& traits);

/// Extra time until all channels run full: f L D / (D + 1.5 L). It is a latency, not a share of the rate: on
/// NVLink machines it grows until about 32 MiB and then stays (published nccl-tests tables). Never falls with
/// D.
/// @param factor  f
[[nodiscard]] Seconds fill_time(const NcclConstants& constants, double factor, Seconds latency,
                                Seconds transfer);

/// f of the operation: 1.3 for all_reduce and 0.24 for the others on NVLink, 0.15 of that elsewhere; half of
/// it for LL128, none for LL.
[[nodiscard]] double fill_factor(const NcclConstants& constants, Operation operation, Protocol protocol,
                                 bool nvlink);

}  // namespace stepcast
