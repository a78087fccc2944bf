#include "sim/report/nccl_tests.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace stepcast {
namespace {

constexpr std::array operations{Operation::all_reduce, Operation::all_gather, Operation::reduce_scatter,
                                Operation::broadcast,  Operation::reduce,     Operation::all_to_all,
                                Operation::send_recv};

}  // namespace

std::span<const Operation> nccl_tests_operations() { return operations; }

std::string_view nccl_tests_name(Operation operation) {
  if (operation == Operation::all_to_all) return "alltoall";
  if (operation == Operation::send_recv) return "sendrecv";
  return name_of(operation);
}

std::optional<Operation> operation_named(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  if (slash != std::string_view::npos) name.remove_prefix(slash + 1);
  for (const std::string_view suffix : {"_perf_mpi", "_perf"}) {
    if (name.ends_with(suffix)) name.remove_suffix(suffix.size());
  }
  for (const Operation operation : operations) {
    if (name == name_of(operation) || name == nccl_tests_name(operation)) return operation;
  }
  return std::nullopt;
}

std::optional<Bytes> parse_nccl_tests_size(std::string_view text) {
  double value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || !(value > 0) || !std::isfinite(value)) return std::nullopt;
  std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  if (unit.ends_with("iB")) {
    unit.remove_suffix(2);
  } else if (unit.ends_with('B')) {
    unit.remove_suffix(1);
  }
  double factor = 1;
  if (!unit.empty()) {
    constexpr std::string_view letters = "KMGT";
    const char upper = unit[0] >= 'a' && unit[0] <= 'z' ? static_cast<char>(unit[0] - 'a' + 'A') : unit[0];
    const std::size_t power = letters.find(upper);
    if (unit.size() != 1 || power == std::string_view::npos) return std::nullopt;
    factor = std::pow(1024.0, static_cast<double>(power + 1));
  }
  const double bytes = value * factor;
  if (bytes > 1e18 || bytes != std::floor(bytes)) return std::nullopt;
  return Bytes(bytes);
}

Bytes nccl_tests_size(Operation operation, Bytes asked, int ranks, double element) {
  const bool dealt_out = operation == Operation::all_gather || operation == Operation::reduce_scatter ||
                         operation == Operation::all_to_all;
  const double unit = element * (dealt_out ? ranks : 1);
  return Bytes(std::floor(asked.value / unit) * unit);
}

std::string_view nccl_tests_reduction(Operation operation) {
  const bool reduces = operation == Operation::all_reduce || operation == Operation::reduce_scatter ||
                       operation == Operation::reduce || operation == Operation::send_recv;
  return reduces ? "sum" : "none";
}

std::string nccl_tests_time(Seconds time) {
  const double value = time.value * 1e6;
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", value >= 10'000 ? 0 : value >= 100 ? 1 : 2, value);
  return text;
}

std::string nccl_tests_rate(BytesPerSecond rate) {
  char text[64];
  std::snprintf(text, sizeof text, "%.2f", rate.value / 1e9);
  return text;
}

}  // namespace stepcast
