#include "calibrate/cuda/nccl_api.hpp"

#include "calibrate/cuda/library.hpp"
#include "calibrate/device.hpp"

namespace stepcast {

NcclApi::NcclApi() {
  const SharedLibrary library("NCCL", {"libnccl.so.2"});
  library.load(get_version, "ncclGetVersion");
  library.load(error_text, "ncclGetErrorString");
  library.load_optional(last_error, "ncclGetLastError");
  library.load(unique_id, "ncclGetUniqueId");
  library.load(init_rank, "ncclCommInitRank");
  library.load(destroy, "ncclCommDestroy");
  library.load(abort, "ncclCommAbort");
  library.load(async_error, "ncclCommGetAsyncError");
  library.load(group_start, "ncclGroupStart");
  library.load(group_end, "ncclGroupEnd");
  library.load_optional(group_simulate_end, "ncclGroupSimulateEnd");
  library.load(all_reduce, "ncclAllReduce");
  library.load(all_gather, "ncclAllGather");
  library.load(reduce_scatter, "ncclReduceScatter");
  library.load(broadcast, "ncclBroadcast");
  library.load(reduce, "ncclReduce");
  library.load(send, "ncclSend");
  library.load(receive, "ncclRecv");
}

std::string NcclApi::version() const {
  int version = 0;  // major x 10000 + minor x 100 + patch since 2.9; NCCL_VERSION in nccl.h
  check(get_version(&version), "tell its version");
  return std::to_string(version / 10000) + "." + std::to_string(version % 10000 / 100) + "." +
         std::to_string(version % 100);
}

void NcclApi::check(ncclResult_t result, const std::string& what) const {
  if (result == ncclSuccess) return;
  std::string reason = error_text(result);
  if (last_error != nullptr) {
    if (const char* words = last_error(nullptr); words != nullptr && *words != '\0')
      reason += ": " + std::string(words);
  }
  throw MachineError("NCCL can't " + what + ": " + reason, "NCCL_DEBUG=WARN makes it say more");
}

}  // namespace stepcast
