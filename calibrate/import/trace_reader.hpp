#pragma once

#include <cstdint>
#include <functional>
#include <istream>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic.hpp"
#include "base/units.hpp"

namespace stepcast {

/// One event of a PyTorch profiler (Kineto) trace: what is needed of it. Times are whole nanoseconds of the
/// profiler's clock.
struct TraceEvent {
  char phase{};                ///< 'X': has a duration
  std::string category, name;  ///< "kernel", "cpu_op", "cuda_runtime", "user_annotation", ...
  std::int64_t process{-1}, thread{-1};
  std::int64_t start{}, duration{};

  // Of "args"; -1 or empty where absent.
  std::int64_t correlation{-1}, device{-1}, stream{-1};
  std::int64_t sequence{-1};             ///< autograd's number of a forward operator and of its backward
  double bytes{-1};                      ///< copies
  std::string collective, dtype, group;  ///< collectives: "allreduce", "Float", process group's name
  std::vector<int> group_ranks;          ///< global ranks, where they are listed
  std::int64_t elements_in{-1}, elements_out{-1};
  int group_size{-1};
  std::vector<std::vector<std::int64_t>> dims, strides;  ///< of the inputs; lists of tensors: empty
  std::vector<std::string> types;
};

/// What a trace says about itself, and how far it could be read.
struct TraceFacts {
  int rank{-1}, world_size{-1};
  int process_groups{-1};  ///< how many are listed
  std::string backend, nccl_version, schema;
  struct Device {
    std::int64_t id{-1};
    std::string name;
    Bytes memory;
  };
  std::vector<Device> devices;
  bool has_events{};            ///< a list of events was there, if an empty one
  bool execution_trace{};       ///< "nodes" instead of events: PyTorch or Chakra execution trace
  std::uint64_t events{};       ///< handed over
  bool whole_events{};          ///< the list of events was read up to its end
  std::uint64_t bytes{};        ///< of JSON text read
  unsigned line{1}, column{1};  ///< of the JSON text, where reading ended
  std::string damage;           ///< why reading ended early; "" at the text's end
};

/// Where a fault of a trace stands: where reading ended early, else at its beginning.
[[nodiscard]] SourcePlace place_in(const std::string& file, const TraceFacts& facts);
/// "the gzip stream is cut off: read up to byte 1200, 30 events"; "" of a trace that was read to its end.
[[nodiscard]] std::string damage_note(const TraceFacts& facts);

/// Reads a trace (plain or gzip'd JSON; an object with "traceEvents", or the bare list) and hands over its
/// events one by one, in the order of the file. Needs the memory of one event, however long the trace. A
/// trace that is cut off, or no JSON from some byte on, is read up to there; `damage` then says why.
/// @param on_event  false ends reading
/// @throws nothing of its own
[[nodiscard]] TraceFacts read_trace(std::istream& from,
                                    const std::function<bool(const TraceEvent&)>& on_event);

}  // namespace stepcast
