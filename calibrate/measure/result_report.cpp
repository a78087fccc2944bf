#include "calibrate/measure/result_report.hpp"

#include <algorithm>
#include <map>

#include "base/json.hpp"
#include "base/print.hpp"
#include "calibrate/measure/statistics.hpp"
#include "sim/scenario/scenario.hpp"

namespace stepcast {
namespace {

using Kind = Measurement::Kind;

/// A median known no better than this is worth a warning, as is one rank, or lasting load, that is slower by
/// so much.
constexpr double wide = 0.1, slow = 0.05;

FlopPerSecond rate_of(const Measured& product) {
  const Measurement& what = product.what;
  const double flops = 2.0 * static_cast<double>(what.rows) * static_cast<double>(what.columns) *
                       static_cast<double>(what.depth);
  return product.median.value > 0 ? FlopPerSecond(flops / product.median.value) : FlopPerSecond();
}

std::optional<double> median(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  std::vector<Seconds> numbers;
  for (const double value : values) numbers.emplace_back(value);
  return median_of(numbers).value;
}

void add_product(ResultReport& report, const Measured& measured) {
  const FlopPerSecond rate = rate_of(measured);
  for (ResultReport::Product& product : report.products) {
    if (product.type != measured.what.dtype) continue;
    if (rate > product.rate) product = {product.type, rate, measured.what};
    return;
  }
  report.products.push_back({measured.what.dtype, rate, measured.what});
}

void add_collective(ResultReport& report, const Measured& measured) {
  const Measurement& what = measured.what;
  const auto ranks = static_cast<int>(what.ranks.size());
  const BytesPerSecond bandwidth =
      CollectiveModel::bus_bandwidth(what.collective, what.bytes, ranks, measured.median);
  for (ResultReport::Collective& row : report.collectives) {
    if (row.operation != what.collective || row.group != what.group) continue;
    if (what.bytes < row.smallest) {
      row.smallest = what.bytes;
      row.latency = measured.median;
    }
    if (bandwidth > row.bus_bandwidth) {
      row.bus_bandwidth = bandwidth;
      row.best_size = what.bytes;
    }
    return;
  }
  report.collectives.push_back(
      {what.collective, what.group, ranks, what.nodes, measured.median, what.bytes, bandwidth, what.bytes});
}

/// Slowest over fastest of the ranks that took part, less 1.
std::optional<double> spread_of_ranks(const Measured& measured) {
  Seconds fastest, slowest;
  int ranks = 0;
  for (const Seconds time : measured.by_rank) {
    if (time.value <= 0) continue;
    fastest = ranks == 0 ? time : std::min(fastest, time);
    slowest = std::max(slowest, time);
    ++ranks;
  }
  if (ranks < 2) return std::nullopt;
  return slowest / fastest - 1;
}

void add_sustained(ResultReport& report, const Measured& sustained, const MeasuredSet& set) {
  report.rank_spread = spread_of_ranks(sustained);
  Measurement fresh = sustained.what;
  fresh.kind = Kind::gemm;
  for (const Measured& measured : set.results) {
    if (measured.what == fresh && measured.median.value > 0)
      report.sustained_slowdown = sustained.median / measured.median - 1;
  }
}

void add_warnings(ResultReport& report, const MeasuredSet& set, int left_out) {
  if (left_out > 0)
    report.warnings.push_back("no time was left for " + std::to_string(left_out) +
                              " measurements: a larger --budget makes them");
  int uncertain = 0;
  const Measured* worst = nullptr;
  double worst_width = 0;
  for (const Measured& measured : set.results) {
    if (measured.median.value <= 0) continue;
    const double width = (measured.high - measured.low) / measured.median / 2;
    if (width <= wide) continue;
    ++uncertain;
    if (width <= worst_width) continue;
    worst = &measured;
    worst_width = width;
  }
  if (worst)
    report.warnings.push_back(std::to_string(uncertain) + " of " + std::to_string(set.results.size()) +
                              " medians are known no better than to " + print_share(wide) + "; the worst, " +
                              describe(worst->what) + ", to " + print_share(worst_width) +
                              ": is something else running?");
  if (report.rank_spread && *report.rank_spread > slow)
    report.warnings.push_back("the slowest rank takes " + print_share(*report.rank_spread) +
                              " longer than the fastest for the same product");
  if (report.sustained_slowdown && *report.sustained_slowdown > slow)
    report.warnings.push_back("under lasting load products take " + print_share(*report.sustained_slowdown) +
                              " longer than in short runs: power or heat limits the clock");
}

std::string print_flops(FlopPerSecond rate) { return print_count(rate.value) + "FLOP/s"; }

std::string line(const std::string& name, const std::string& figure, const std::string& remark = "") {
  std::string text = "  " + name + std::string(name.size() < 22 ? 22 - name.size() : 1, ' ') + figure;
  if (!remark.empty()) text += std::string(figure.size() < 14 ? 14 - figure.size() : 1, ' ') + remark;
  return text + "\n";
}

}  // namespace

ResultReport result_report(const MeasuredSet& set, int left_out) {
  ResultReport report;
  std::vector<double> slowdowns, spreads;
  Bytes largest_copy;
  for (const Measured& measured : set.results) {
    spreads.push_back(measured.spread);
    switch (measured.what.kind) {
      case Kind::gemm:
        add_product(report, measured);
        break;
      case Kind::kernel:
        if (tells_memory_rate(measured.what) && measured.what.moved > largest_copy) {
          largest_copy = measured.what.moved;
          report.memory_rate = BytesPerSecond(measured.what.moved.value / measured.median.value);
        }
        break;
      case Kind::launch:
        report.launch = measured.median;
        break;
      case Kind::collective:
        add_collective(report, measured);
        break;
      case Kind::overlap:
        if (measured.alone.value > 0) slowdowns.push_back(measured.median / measured.alone - 1);
        break;
      case Kind::sustained:
        add_sustained(report, measured, set);
        break;
      case Kind::attention:
      case Kind::host_copy:
        break;
    }
  }
  report.overlap_slowdown = median(slowdowns);
  report.spread = median(spreads).value_or(0);
  add_warnings(report, set, left_out);
  return report;
}

std::string to_table(const ResultReport& report, const MeasuredSet& set, const ResultContext& context) {
  std::string text = set.device.model + ", " + std::to_string(set.ranks) +
                     (set.ranks == 1 ? " rank" : " ranks") + " on " + std::to_string(set.nodes) +
                     (set.nodes == 1 ? " node" : " nodes") + "; " + std::to_string(set.results.size()) +
                     " measurements in " + print_time(context.duration) + "\n\n";
  for (const ResultReport::Product& product : report.products)
    text += line("best gemm " + std::string(name_of(product.type)), print_flops(product.rate),
                 describe(product.shape));
  if (report.memory_rate) text += line("memory, large copy", print_rate(*report.memory_rate));
  if (report.launch) text += line("launch of a kernel", print_time(*report.launch), "CPU time");
  for (const ResultReport::Collective& row : report.collectives) {
    text += line(std::string(name_of(row.operation)) + " " + row.group, print_time(row.latency),
                 "at " + print_size(row.smallest) + "; up to " + print_rate(row.bus_bandwidth) +
                     " bus bandwidth (" + print_size(row.best_size) + ")");
  }
  if (report.overlap_slowdown)
    text += line("gemm beside all_reduce", print_share(*report.overlap_slowdown), "longer than alone");
  if (report.sustained_slowdown)
    text += line("under lasting load", print_share(*report.sustained_slowdown), "longer than in short runs");
  if (report.rank_spread)
    text += line("between ranks", print_share(*report.rank_spread), "slowest over fastest");
  text += line("from run to run", print_share(report.spread), "median relative deviation");
  for (const std::string& warning : report.warnings) text += "warning: " + warning + "\n";
  return text + "\nwritten: " + context.profile + "\nuse it: stepcast run SCENARIO.toml --profile " +
         context.profile + "\n";
}

std::string to_json(const ResultReport& report, const MeasuredSet& set, const ResultContext& context) {
  JsonWriter json;
  json.begin_object();
  json.member("schema", "stepcast.calibration/1");
  json.member("backend", context.backend);
  json.member("device", set.device.profile_name);
  json.member("model", set.device.model);
  json.key("versions");
  json.begin_object();
  for (const auto& [name, version] : set.device.versions) json.member(name, version);
  json.end_object();
  json.member("nodes", set.nodes);
  json.member("ranks", set.ranks);
  json.key("hosts");
  json.begin_array();
  for (const std::string& host : set.hosts) json.value(host);
  json.end_array();
  json.member("node", set.node);
  json.member("fabric", set.fabric);
  json.member("link_rate_Bps", set.link_rate.value);
  json.member("measured_on", set.measured_on);
  json.member("profile", context.profile);
  json.member("duration_s", context.duration.value);
  json.member("measurements", static_cast<std::int64_t>(set.results.size()));
  json.key("gemm");
  json.begin_array();
  for (const ResultReport::Product& product : report.products) {
    json.begin_object();
    json.member("dtype", name_of(product.type));
    json.member("rate_FLOPps", product.rate.value);
    json.member("rows", product.shape.rows);
    json.member("columns", product.shape.columns);
    json.member("depth", product.shape.depth);
    json.end_object();
  }
  json.end_array();
  const auto figure = [&](const char* name, const std::optional<double>& value) { json.member(name, value); };
  figure("memory_rate_Bps", report.memory_rate ? std::optional(report.memory_rate->value) : std::nullopt);
  figure("launch_s", report.launch ? std::optional(report.launch->value) : std::nullopt);
  json.key("collectives");
  json.begin_array();
  for (const ResultReport::Collective& row : report.collectives) {
    json.begin_object();
    json.member("operation", name_of(row.operation));
    json.member("group", row.group);
    json.member("ranks", row.ranks);
    json.member("nodes", row.nodes);
    json.member("smallest_bytes", row.smallest.value);
    json.member("latency_s", row.latency.value);
    json.member("bus_bandwidth_Bps", row.bus_bandwidth.value);
    json.member("at_bytes", row.best_size.value);
    json.end_object();
  }
  json.end_array();
  figure("overlap_slowdown", report.overlap_slowdown);
  figure("sustained_slowdown", report.sustained_slowdown);
  figure("rank_spread", report.rank_spread);
  json.member("spread", report.spread);
  json.key("warnings");
  json.begin_array();
  for (const std::string& warning : report.warnings) json.value(warning);
  json.end_array();
  json.end_object();
  return json.text();
}

}  // namespace stepcast
