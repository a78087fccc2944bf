#include "calibrate/cuda/nccl_profiler.hpp"

#include <dlfcn.h>
#include <nccl.h>

#include <cctype>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <utility>

// NCCL's profiler interface, version 2 (NCCL 2.24 and all later ones; ext-profiler in NVIDIA/nccl). Its
// headers don't come with the library, so what is used of them is declared here; all fields before those that
// are read keep their place. NCCL_PROFILER_PLUGIN=STATIC_PLUGIN makes NCCL look up ncclProfiler_v2 in the
// program itself, which the linker must export.
namespace stepcast {
namespace {

constexpr int event_collective = 1 << 1;  // ncclProfileColl

struct EventDescription {
  std::uint8_t type;
  void* parent;
  int rank;
  struct Collective {
    const char* name;
    std::uint64_t communicator;
    std::uint64_t sequence_number;
    const char* function;
    const void* send_buffer;
    void* receive_buffer;
    std::size_t count;
    int root;
    const char* datatype;
    std::size_t traffic_bytes;
    std::uint8_t channels;
    std::uint8_t warps;
    const char* algorithm;
    const char* protocol;
  } collective;  // the largest of the union's members
};

struct ProfilerV2 {
  const char* name;
  ncclResult_t (*init)(void** context, int* activation_mask);
  ncclResult_t (*start_event)(void* context, void** event, EventDescription* description);
  ncclResult_t (*stop_event)(void* event);
  ncclResult_t (*record_event_state)(void* event, int state, void* arguments);
  ncclResult_t (*finalize)(void* context);
};

std::mutex mutex;
std::optional<CollectiveEvent> last;

std::string lower(const char* text) {
  std::string result(text != nullptr ? text : "");
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

std::string protocol_name(const char* text) {
  const std::string name = lower(text);
  if (name == "ll") return "LL";
  if (name == "ll128") return "LL128";
  if (name == "simple") return "Simple";
  return name;
}

ncclResult_t init(void** context, int* activation_mask) {
  *context = &last;  // NCCL finalizes only profilers that have one
  *activation_mask = event_collective;
  return ncclSuccess;
}

ncclResult_t start_event(void*, void** event, EventDescription* description) {
  *event = nullptr;
  if (description->type != event_collective) return ncclSuccess;
  const auto& collective = description->collective;
  const std::lock_guard lock(mutex);
  last =
      CollectiveEvent{lower(collective.algorithm), protocol_name(collective.protocol), collective.channels};
  return ncclSuccess;
}

ncclResult_t stop_event(void*) { return ncclSuccess; }
ncclResult_t record_event_state(void*, int, void*) { return ncclSuccess; }
ncclResult_t finalize(void*) { return ncclSuccess; }

}  // namespace

extern "C" {
__attribute__((visibility("default"), used))
ProfilerV2 ncclProfiler_v2{"stepcast", init, start_event, stop_event, record_event_state, finalize};
}

void offer_nccl_profiler() {
  // A program that does not export the symbol would only earn a warning.
  if (dlsym(RTLD_DEFAULT, "ncclProfiler_v2") != &ncclProfiler_v2) return;
  setenv("NCCL_PROFILER_PLUGIN", "STATIC_PLUGIN", 0);
}

std::optional<CollectiveEvent> take_collective_event() {
  const std::lock_guard lock(mutex);
  return std::exchange(last, std::nullopt);
}

}  // namespace stepcast
