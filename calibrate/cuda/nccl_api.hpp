#pragma once

#include <nccl.h>

#include <string>

namespace stepcast {

/// NCCL's functions, opened at run time.
struct NcclApi {
  decltype(&ncclGetVersion) get_version{};
  decltype(&ncclGetErrorString) error_text{};
  decltype(&ncclGetLastError) last_error{};  ///< null before 2.13
  decltype(&ncclGetUniqueId) unique_id{};
  decltype(&ncclCommInitRank) init_rank{};
  decltype(&ncclCommDestroy) destroy{};
  decltype(&ncclCommAbort) abort{};
  decltype(&ncclCommGetAsyncError) async_error{};
  decltype(&ncclGroupStart) group_start{};
  decltype(&ncclGroupEnd) group_end{};
  decltype(&ncclGroupSimulateEnd) group_simulate_end{};  ///< null before 2.22
  decltype(&ncclAllReduce) all_reduce{};
  decltype(&ncclAllGather) all_gather{};
  decltype(&ncclReduceScatter) reduce_scatter{};
  decltype(&ncclBroadcast) broadcast{};
  decltype(&ncclReduce) reduce{};
  decltype(&ncclSend) send{};
  decltype(&ncclRecv) receive{};

  /// @throws MachineError where NCCL can't be found
  NcclApi();
  [[nodiscard]] std::string version() const;  ///< "2.28.9"
  /// @throws MachineError saying what was tried and NCCL's own last words
  void check(ncclResult_t result, const std::string& what) const;
};

}  // namespace stepcast
