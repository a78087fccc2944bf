#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/backend.hpp"
#include "sim/cost/cost.hpp"

namespace stepcast {

/// One thing to measure. Only the fields of its kind count.
struct Measurement {
  enum class Kind {
    gemm,        ///< rows, columns, depth, transposes, dtype; with transpose_a it adds to an fp32 result
    attention,   ///< samples, heads, head_dim, length, pass, dtype
    kernel,      ///< operation, elements, columns, pass, dtype: a memory-bound operator
    launch,      ///< CPU time to launch one kernel
    host_copy,   ///< bytes, between host and device
    collective,  ///< collective, bytes, ranks
    overlap,     ///< the gemm beside the collective
    sustained    ///< the gemm for seconds: clock under load, spread between devices
  };
  Kind kind{};
  Dtype dtype{Dtype::fp32};
  Pass pass{Pass::forward};
  std::int64_t rows{}, columns{}, depth{};
  bool transpose_a{}, transpose_b{};
  std::int64_t samples{}, heads{}, head_dim{}, length{};
  /// The last word of the operators' names that it stands for (norm, bias, activation, residual, embedding,
  /// cross_entropy), or copy, adamw.
  std::string operation;
  std::int64_t
      elements{};  ///< of kernels, in rows of `columns`; embedding: `rows` is that of its token table
  /// Kernels: bytes that the cost model counts for it, see moved_bytes().
  Bytes moved;
  Operation collective{};
  Bytes bytes;             ///< of a collective as nccl-tests counts it, or of a copy
  std::vector<int> ranks;  ///< of the meeting
  std::string group;       ///< "all", "node", "across", "rail 1"
  int nodes{1};            ///< that `ranks` are on
  bool to_device{true};    ///< host_copy
  friend bool operator==(const Measurement&, const Measurement&) = default;
};

[[nodiscard]] std::string_view name_of(Measurement::Kind kind);
/// For people: "gemm 512 x 1024 x 256 fp32 (forward)", "all_reduce 1.00 MiB, all".
[[nodiscard]] std::string describe(const Measurement& what);

/// Copies that move less may be held by caches, and tell no rate of the memory.
inline constexpr Bytes least_memory_copy = mebibytes(64);
[[nodiscard]] inline bool tells_memory_rate(const Measurement& what) {
  return what.kind == Measurement::Kind::kernel && what.operation == "copy" &&
         what.moved >= least_memory_copy;
}

/// What it took: the median over repeats of the slowest rank's time.
struct Measured {
  Measurement what;
  Seconds median, low, high;  ///< low and high: 95 % confidence interval of the median
  double spread{};            ///< relative standard deviation from run to run, robust (1.4826 MAD / median)
  std::vector<Seconds> by_rank;  ///< each rank's own median; 0 for one that takes no part
  int repeats{};
  Seconds host;   ///< launch: CPU time of one; collective on hosts: CPU time per call; else CPU time to issue
  Seconds alone;  ///< overlap: the gemm without the collective; `median` is beside it
  CollectiveFacts facts;
};

/// All that one calibration measured, and on what.
struct MeasuredSet {
  DeviceFacts device;
  std::string node;    ///< name of the [links] section: a node preset, or "cpu-host"
  std::string fabric;  ///< link class between nodes: "ethernet-1g"; empty with one node
  BytesPerSecond link_rate;
  int nodes{1}, ranks{1}, ranks_per_node{1};
  std::vector<std::string> hosts;
  std::string measured_on;  ///< "2026-12-01, node7 node8"
  std::vector<Measured> results;
};

}  // namespace stepcast
