#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/units.hpp"
#include "sim/collective/collective.hpp"

namespace stepcast {

/// Half of a row of an nccl-tests table: separate buffers, or one.
struct NcclTestsTiming {
  Seconds time;
  double algorithm_bandwidth{}, bus_bandwidth{};  ///< GB/s, as printed
};

struct NcclTestsRow {
  unsigned line{};  ///< of the file, from 1
  Bytes size;       ///< above 0: rows of size 0 are left out
  std::int64_t count{};
  std::string type, reduction;  ///< "float", "sum"; reduction empty where the table has no such column
  std::optional<int> root;      ///< -1: none
  std::optional<NcclTestsTiming> out_of_place, in_place;
};

/// A "Rank" line of the header.
struct NcclTestsRank {
  int rank{};
  std::string host;
  int device{};
  std::string gpu;  ///< "NVIDIA A100-SXM4-40GB"
};

/// What NCCL says (INFO) it chose for a size.
struct NcclChoice {
  Bytes size;
  std::string algorithm, protocol;  ///< "RING", "SIMPLE"
  int channels{};
};

/// One run of one nccl-tests program.
struct NcclTestsRun {
  unsigned line{};                     ///< where it starts
  std::optional<Operation> operation;  ///< nothing when neither a name nor the columns tell
  std::string operation_from;          ///< "test name", "command line", "columns"
  int ranks{};                         ///< 0: not known
  std::string ranks_from;              ///< "rank lines", "NCCL INFO", "columns"
  /// Fewest and most ranks that the printed digits allow; both `ranks` where something else says them.
  std::pair<int, int> ranks_between;
  int info_nodes{};                   ///< NCCL INFO "nNodes"; 0: not there
  std::vector<NcclTestsRank> places;  ///< may be incomplete
  int threads{}, gpus_per_thread{};   ///< of one process; 0: not printed
  std::string tests_version, nccl_version;
  std::string network;  ///< NCCL INFO "Using network ...": "IB", "Socket", "AWS Libfabric"
  std::string cards;    ///< NCCL INFO "NET/IB": "IB", "RoCE"; empty without such lines, or when they differ
  std::optional<BytesPerSecond> card_rate;      ///< of the fastest card of those lines
  std::string date;                             ///< of the first time stamp before its rows: "2024-05-01"
  std::optional<double> average_bus_bandwidth;  ///< GB/s
  std::vector<NcclTestsRow> rows;
  std::vector<NcclChoice> choices;

  /// Hosts of the rank lines; 0 when there are none.
  [[nodiscard]] int hosts() const;
  /// Nodes that the log is sure of: of NCCL INFO, else the hosts of the rank lines unless lines are missing
  /// between two hosts; 0: not known.
  [[nodiscard]] int nodes() const;
};

struct NcclTestsLog {
  std::string file;
  std::vector<NcclTestsRun> runs;  ///< those with rows
};

/// Reads the output of nccl-tests out of whatever it was pasted into: any number of runs, old and new columns
/// (redop, root, error, #wrong, in-place half missing or N/A), labels of srun and mpirun before lines,
/// indentation, shell prompts, rows torn by NCCL INFO lines.
/// @throws ScenarioError when there is no row; it says whether there is a table without rows, what failed, or
/// that this is no such log
[[nodiscard]] NcclTestsLog parse_nccl_tests_log(std::string_view text, const std::string& file);
/// The same of a file, which may be gzip'd. @throws ScenarioError also when it can't be read
[[nodiscard]] NcclTestsLog read_nccl_tests_log(const std::string& file);

/// The rows of all runs of `operation` on `ranks` ranks, one for each size, ascending: of sizes that were run
/// several times, the geometric means.
[[nodiscard]] std::vector<NcclTestsRow> rows_by_size(const NcclTestsLog& log, Operation operation, int ranks);

}  // namespace stepcast
