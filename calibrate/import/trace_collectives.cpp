#include "calibrate/import/trace_collectives.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <tuple>
#include <utility>

namespace stepcast {
namespace {

/// Bytes of an element by the names that c10 and Kineto give to types; 0 for others.
double bytes_of_type(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (name.starts_with("c10::")) name = name.substr(5);
  static const std::map<std::string, double> sizes = {
      {"float", 4}, {"half", 2},          {"bfloat16", 2},      {"double", 8},
      {"int", 4},   {"long", 8},          {"long int", 8},      {"short", 2},
      {"char", 1},  {"signed char", 1},   {"byte", 1},          {"bool", 1},
      {"int8", 1},  {"unsigned char", 1}, {"float8_e4m3fn", 1}, {"float8_e5m2", 1}};
  const auto found = sizes.find(name);
  return found == sizes.end() ? 0 : found->second;
}

/// "allreduce", "_allgather_base", "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL": letters alone, small ones.
std::optional<Operation> operation_of(std::string_view name) {
  std::string letters;
  for (const char c : name)
    if (std::isalpha(static_cast<unsigned char>(c)) != 0)
      letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  constexpr auto names =
      std::to_array<std::pair<std::string_view, Operation>>({{"reducescatter", Operation::reduce_scatter},
                                                             {"allreduce", Operation::all_reduce},
                                                             {"allgather", Operation::all_gather},
                                                             {"alltoall", Operation::all_to_all},
                                                             {"broadcast", Operation::broadcast},
                                                             {"sendrecv", Operation::send_recv},
                                                             {"send", Operation::send_recv},
                                                             {"recv", Operation::send_recv},
                                                             {"reduce", Operation::reduce}});
  for (const auto& [word, operation] : names)
    if (letters.find(word) != std::string::npos) return operation;
  return std::nullopt;
}

/// The full tensor, as nccl-tests counts it: what all ranks together end up with, or begin with.
std::optional<Bytes> size_of(const TracedCollective& call, Operation operation, int ranks) {
  const double element = bytes_of_type(call.dtype);
  double elements = static_cast<double>(call.elements_in);
  if (operation == Operation::all_gather) {
    if (call.elements_out > 0) {
      elements = static_cast<double>(call.elements_out);
    } else if (ranks > 0) {
      elements *= ranks;
    } else {
      return std::nullopt;
    }
  } else if (elements <= 0 && operation == Operation::send_recv) {
    elements = static_cast<double>(call.elements_out);
  }
  return element > 0 && elements > 0 ? std::optional(Bytes(elements * element)) : std::nullopt;
}

Seconds quantile(std::vector<Seconds> times, double share) {
  const auto index = static_cast<std::ptrdiff_t>(share * static_cast<double>(times.size() - 1));
  std::nth_element(times.begin(), times.begin() + index, times.end());
  return times[static_cast<std::size_t>(index)];
}

}  // namespace

std::vector<TracedSeries> collective_series(const TraceTimeline& timeline,
                                            const std::vector<PartFinder::Place>& places,
                                            const Intervals& computing) {
  using Key = std::tuple<std::string, double, int, std::string>;
  std::map<Key, std::size_t> known;
  std::map<std::pair<std::size_t, int>, int> numbers;  // by series and step
  std::vector<TracedSeries> all;
  for (std::size_t i = 0; i < timeline.kernels.size(); ++i) {
    const TimedKernel& kernel = timeline.kernels[i];
    if (kernel.kind != KernelClass::collective) continue;
    TracedCollective call = timeline.collectives[static_cast<std::size_t>(kernel.call)];
    const TimedLaunch* launch = places[i].launch;
    const TimedSpan* around =
        launch != nullptr ? timeline.communication.around(launch->thread, launch->start) : nullptr;
    if (call.name.empty() && around != nullptr)
      call = timeline.annotated[static_cast<std::size_t>(around->detail)];
    const std::string& kernel_name = timeline.names[static_cast<std::size_t>(kernel.name)];

    TracedSeries series;
    series.operation = operation_of(call.name.empty() ? kernel_name : call.name);
    series.name = series.operation    ? std::string(name_of(*series.operation))
                  : call.name.empty() ? kernel_name.substr(0, kernel_name.find('('))
                                      : call.name;
    series.ranks = call.group_size > 0                  ? call.group_size
                   : timeline.facts.process_groups == 1 ? timeline.facts.world_size
                                                        : 0;
    if (series.operation) series.size = size_of(call, *series.operation, series.ranks);
    series.group = call.group;
    series.group_ranks = call.group_ranks;

    const Key key{series.name, series.size.value_or(Bytes(0)).value, series.ranks, series.group};
    const auto [place, is_new] = known.try_emplace(key, all.size());
    if (is_new) all.push_back(std::move(series));
    const std::int64_t covered = computing.covered(kernel.start, kernel.end);
    const auto time = [](std::int64_t nanoseconds) {
      return Seconds(static_cast<double>(nanoseconds) * 1e-9);
    };
    TracedSeries::Call one;
    one.step = places[i].step;
    one.number = numbers[{place->second, one.step}]++;
    one.time = time(kernel.end - kernel.start);
    one.exposed = time(kernel.end - kernel.start - covered);
    all[place->second].calls.push_back(one);
  }
  for (TracedSeries& series : all) {
    std::vector<Seconds> times;
    for (const TracedSeries::Call& call : series.calls) {
      times.push_back(call.time);
      series.exposed += call.exposed;
    }
    series.lower_quartile = quantile(times, 0.25);
    series.median = quantile(times, 0.5);
  }
  return all;
}

}  // namespace stepcast
