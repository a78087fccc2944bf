#include "sim/report/communication.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "sim/collective/collective.hpp"

namespace stepcast {
namespace {

struct Sums {
  CommunicationRow row;
  double payload{};  ///< bytes, summed over calls
  int ranks{};
  std::map<std::pair<std::string, std::string>, double> time_by_choice;  ///< (algorithm, protocol) -> seconds
  std::map<std::tuple<std::string, std::string, int>, double> count_by_choice;  ///< ... and channels -> calls
};

std::optional<Operation> operation_named(const std::string& name) {
  for (const Operation operation :
       {Operation::all_reduce, Operation::all_gather, Operation::reduce_scatter, Operation::broadcast,
        Operation::reduce, Operation::all_to_all, Operation::send_recv}) {
    if (name_of(operation) == name) return operation;
  }
  return std::nullopt;
}

CommunicationRow finished(Sums sums) {
  CommunicationRow row = std::move(sums.row);
  row.bytes = Bytes(sums.payload / row.count);
  const auto longest = std::max_element(sums.time_by_choice.begin(), sums.time_by_choice.end(),
                                        [](const auto& a, const auto& b) { return a.second < b.second; });
  std::tie(row.algorithm, row.protocol) = longest->first;
  for (const auto& [choice, count] : sums.count_by_choice) {
    const auto& [algorithm, protocol, channels] = choice;
    row.choices.push_back({algorithm, protocol, channels, count});
  }
  // A call that moves partly beside another micro-batch than its own is repeated with the one and exposed
  // with the other.
  row.exposed = std::min(row.exposed, row.time);
  if (row.time > Seconds(0)) {
    row.bus_bandwidth = bus_bandwidth_of(row.operation, row.bytes, sums.ranks, row.time / row.count);
  }
  return row;
}

}  // namespace

BytesPerSecond bus_bandwidth_of(const std::string& operation, Bytes payload, int ranks, Seconds time) {
  const auto known = operation_named(operation);
  return known ? CollectiveModel::bus_bandwidth(*known, payload, ranks, time) : BytesPerSecond(0);
}

std::vector<CommunicationRow> communication_rows(const Program& program, const Timeline& timeline,
                                                 const StepAnalysis& analysis) {
  std::vector<Sums> found;
  for (std::size_t i = 0; i < program.tasks.size(); ++i) {
    const Task& task = program.tasks[i];
    if (task.kind != TaskKind::collective || task.rank != analysis.critical_rank) continue;
    const auto& call = program.collectives[static_cast<std::size_t>(task.payload)];
    const auto& cost = program.collective_costs[static_cast<std::size_t>(call.cost)];
    const auto& described = program.descriptions[static_cast<std::size_t>(cost.description)];
    if (described.ranks <= 1) continue;
    auto place = std::find_if(found.begin(), found.end(), [&](const Sums& sums) {
      return sums.row.operation == described.operation && sums.row.group == described.group;
    });
    if (place == found.end()) {
      place = found.emplace(found.end());
      place->row.operation = described.operation;
      place->row.group = described.group;
      place->ranks = described.ranks;
    }
    const double times = repetitions(program, task);
    const Seconds moving = times * to_seconds(timeline.intervals[i].end - timeline.intervals[i].moving);
    place->row.count += times;
    place->row.time += moving;
    place->row.exposed += analysis.exposed_moving[i];
    place->payload += times * described.bytes;
    place->time_by_choice[{described.algorithm, described.protocol}] += moving.value;
    place->count_by_choice[{described.algorithm, described.protocol, described.channels}] += times;
  }
  std::vector<CommunicationRow> rows;
  rows.reserve(found.size());
  for (Sums& sums : found) rows.push_back(finished(std::move(sums)));
  return rows;
}

}  // namespace stepcast
