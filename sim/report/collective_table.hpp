#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/collective/collective.hpp"

namespace stepcast {

struct CollectiveRow {
  Bytes size;
  Seconds time, low, high;  ///< prediction and its 5-95 % interval (collective_interval.hpp)
  BytesPerSecond algorithm_bandwidth, bus_bandwidth;
  Algorithm algorithm{};
  Protocol protocol{};
  int channels{};
  bool measured{};  ///< follows measured points of a profile
};

/// A predicted nccl-tests table.
struct CollectiveTable {
  Operation operation{};
  int ranks{};
  std::vector<CollectiveRow> rows;
  /// TCP whose sockets the scenario does not set: the same with NCCL_SOCKET_NTHREADS and
  /// NCCL_NSOCKS_PERTHREAD.
  std::vector<CollectiveRow> tuned_sockets;
};

/// How a call is simulated: as one activity on its links, or every chunk of every step as a flow.
enum class Fidelity { fluid, stepwise };

struct CollectiveRowOptions {
  Fidelity fidelity{Fidelity::fluid};
  const std::atomic<bool>* cancel{};  ///< ends the table early, with the sizes that are done
  std::function<void(std::size_t done, std::size_t total)> progress;
};

/// All ranks of the model's cluster call at once, each GPU by a process of its own.
/// @throws std::invalid_argument: stepwise, and the operation has no chunk-by-chunk form as NCCL would run it
[[nodiscard]] std::vector<CollectiveRow> collective_rows(const CollectiveModel& model, Operation operation,
                                                         const std::vector<Bytes>& sizes,
                                                         const CollectiveRowOptions& options = {});

/// Sizes of a sweep as nccl-tests runs it: from `first` to `last`, each `factor` times the one before, or
/// `step` more where a step is given; rounded down to what the operation can deal out, without zeros and
/// repeats.
struct SizeSweep {
  Bytes first{8}, last{gibibytes(8)};
  double factor{2};
  std::optional<Bytes> step;
};
inline constexpr std::size_t most_sizes = 100'000;
/// At most `most_sizes` of them.
[[nodiscard]] std::vector<Bytes> sweep_sizes(const SizeSweep& sweep, Operation operation, int ranks);

/// nccl-tests' columns, then the interval and what NCCL chooses.
[[nodiscard]] std::string to_text(const CollectiveTable& table);

/// {schema: "stepcast.collectives/1", operation, ranks, rows}; of several operations {schema, operations:
/// [...]}.
[[nodiscard]] std::string to_json(const std::vector<CollectiveTable>& tables);

}  // namespace stepcast
