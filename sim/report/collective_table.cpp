#include "sim/report/collective_table.hpp"

#include <cmath>
#include <cstdio>

#include "base/json.hpp"
#include "sim/collective/stepwise.hpp"
#include "sim/report/collective_interval.hpp"
#include "sim/report/collective_json.hpp"
#include "sim/report/collective_model.hpp"
#include "sim/report/nccl_tests.hpp"

namespace stepcast {
namespace {

constexpr double element = element_size(Dtype::fp32);  // nccl-tests' default type

void write_rows(JsonWriter& json, const std::vector<CollectiveRow>& rows) {
  json.begin_array();
  for (const CollectiveRow& row : rows) {
    json.begin_object();
    write_collective_row(json, row);
    json.end_object();
  }
  json.end_array();
}

void write_table(JsonWriter& json, const CollectiveTable& table) {
  json.member("operation", nccl_tests_name(table.operation));
  json.member("ranks", table.ranks);
  json.key("rows");
  write_rows(json, table.rows);
  if (table.tuned_sockets.empty()) return;
  json.key("tuned_sockets");
  write_rows(json, table.tuned_sockets);
}

std::string lines_of(const CollectiveTable& table, const std::vector<CollectiveRow>& rows) {
  std::string text =
      "#\n"
      "#       size         count      type   redop    root     time   algbw   busbw      5 %     95 %   "
      "algorithm  "
      "protocol  channels\n"
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)     (us)     (us)\n";
  for (const CollectiveRow& row : rows) {
    const bool dealt_out = table.operation == Operation::all_gather ||
                           table.operation == Operation::reduce_scatter ||
                           table.operation == Operation::all_to_all;
    const double count = row.size.value / element / (dealt_out ? table.ranks : 1);
    const bool rooted = table.operation == Operation::broadcast || table.operation == Operation::reduce;
    char line[256];
    std::snprintf(
        line, sizeof line, "%12.0f  %12.0f  %8s  %6s  %6d  %7s  %6s  %6s  %7s  %7s  %10s  %8s  %8d%s\n",
        row.size.value, count, "float", std::string(nccl_tests_reduction(table.operation)).c_str(),
        rooted ? 0 : -1, nccl_tests_time(row.time).c_str(), nccl_tests_rate(row.algorithm_bandwidth).c_str(),
        nccl_tests_rate(row.bus_bandwidth).c_str(), nccl_tests_time(row.low).c_str(),
        nccl_tests_time(row.high).c_str(), std::string(name_of(row.algorithm)).c_str(),
        std::string(name_of(row.protocol)).c_str(), row.channels, row.measured ? "  m" : "");
    text += line;
  }
  return text;
}

double average(const std::vector<CollectiveRow>& rows) {
  double sum = 0;
  for (const CollectiveRow& row : rows) sum += row.bus_bandwidth.value / 1e9;
  return rows.empty() ? 0 : sum / static_cast<double>(rows.size());
}

}  // namespace

std::vector<CollectiveRow> collective_rows(const CollectiveModel& model, Operation operation,
                                           const std::vector<Bytes>& sizes,
                                           const CollectiveRowOptions& options) {
  const Group group = every_rank(model.cluster());
  const int ranks = static_cast<int>(group.ranks.size());
  std::vector<CollectiveRow> rows;
  for (const Bytes size : sizes) {
    if (options.cancel != nullptr && options.cancel->load(std::memory_order_relaxed)) break;
    CollectivePlan plan;
    if (options.fidelity == Fidelity::stepwise) {
      try {
        const StepwiseResult result = stepwise(model, operation, size, {group}, {}, options.cancel);
        plan = result.plan;
        plan.time_alone = result.time;
      } catch (const Interrupted&) {
        break;
      }
    } else {
      plan = model.plan(operation, size, {group});
    }
    const SizeBand& band = collective_band(size);
    CollectiveRow row;
    row.size = size;
    row.time = plan.time_alone;
    row.low = (plan.measured ? band.corrected_low : band.low) * plan.time_alone;
    row.high = (plan.measured ? band.corrected_high : band.high) * plan.time_alone;
    row.algorithm_bandwidth = BytesPerSecond(size.value / plan.time_alone.value);
    row.bus_bandwidth = CollectiveModel::bus_bandwidth(operation, size, ranks, plan.time_alone);
    row.algorithm = plan.algorithm;
    row.protocol = plan.protocol;
    row.channels = plan.channels;
    row.measured = plan.measured;
    rows.push_back(row);
    if (options.progress) options.progress(rows.size(), sizes.size());
  }
  return rows;
}

std::vector<Bytes> sweep_sizes(const SizeSweep& sweep, Operation operation, int ranks) {
  std::vector<Bytes> sizes;
  for (Bytes asked = sweep.first; asked <= sweep.last && sizes.size() < most_sizes;) {
    const Bytes size = nccl_tests_size(operation, asked, ranks, element);
    if (size > Bytes(0) && (sizes.empty() || size > sizes.back())) sizes.push_back(size);
    asked = sweep.step ? asked + *sweep.step : sweep.factor * asked;
  }
  return sizes;
}

std::string to_text(const CollectiveTable& table) {
  std::string text = lines_of(table, table.rows);
  char end[64];
  std::snprintf(end, sizeof end, "# Avg bus bandwidth    : %g\n", average(table.rows));
  text += end;
  if (table.tuned_sockets.empty()) return text;
  text +=
      "#\n# With NCCL_SOCKET_NTHREADS and NCCL_NSOCKS_PERTHREAD set as NVIDIA documents for such networks "
      "(nccl.sockets = \"tuned\"):\n" +
      lines_of(table, table.tuned_sockets);
  std::snprintf(end, sizeof end, "# Avg bus bandwidth    : %g\n", average(table.tuned_sockets));
  return text + end;
}

std::string to_json(const std::vector<CollectiveTable>& tables) {
  JsonWriter json;
  json.begin_object();
  json.member("schema", collectives_schema);
  if (tables.size() == 1) {
    write_table(json, tables.front());
  } else {
    json.key("operations");
    json.begin_array();
    for (const CollectiveTable& table : tables) {
      json.begin_object();
      write_table(json, table);
      json.end_object();
    }
    json.end_array();
  }
  json.end_object();
  return json.text();
}

}  // namespace stepcast
