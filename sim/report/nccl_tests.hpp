#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/units.hpp"
#include "sim/collective/collective.hpp"

namespace stepcast {

/// How nccl-tests (github.com/NVIDIA/nccl-tests) names and counts collectives.

/// Operations that nccl-tests has a program for, in the order in which `--op all` runs them.
[[nodiscard]] std::span<const Operation> nccl_tests_operations();

/// "all_reduce", ..., "alltoall", "sendrecv".
[[nodiscard]] std::string_view nccl_tests_name(Operation operation);

/// Ours ("all_to_all"), nccl-tests' ("alltoall") or its program's ("alltoall_perf", with a path before it)
/// name.
[[nodiscard]] std::optional<Operation> operation_named(std::string_view name);

/// "8", "64K", "1M", "8G": powers of 1024, as options -b, -e and -i take them; a "B" or "iB" may follow.
/// Nothing for other texts and for 0.
[[nodiscard]] std::optional<Bytes> parse_nccl_tests_size(std::string_view text);

/// The size that nccl-tests really runs when `asked` is wanted: elements of `element` bytes, a whole number
/// of them for each rank where the operation deals them out (all_gather, reduce_scatter, alltoall).
[[nodiscard]] Bytes nccl_tests_size(Operation operation, Bytes asked, int ranks, double element);

/// What the redop column holds: "sum" for reductions, else "none".
[[nodiscard]] std::string_view nccl_tests_reduction(Operation operation);

/// Cells as nccl-tests prints them: microseconds with two digits below 100, one below 10,000, and none above;
/// GB/s with two.
[[nodiscard]] std::string nccl_tests_time(Seconds time);
[[nodiscard]] std::string nccl_tests_rate(BytesPerSecond rate);

}  // namespace stepcast
