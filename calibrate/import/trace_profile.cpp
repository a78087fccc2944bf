#include "calibrate/import/trace_profile.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <tuple>

#include "base/print.hpp"
#include "calibrate/import/toml_text.hpp"
#include "sim/report/collective_comparison.hpp"
#include "sim/scenario/scenario.hpp"

namespace stepcast {
namespace {

std::string joined_files(const std::vector<TraceSummary>& traces) {
  std::string text;
  for (const TraceSummary& trace : traces) text += (text.empty() ? "" : ", ") + trace.file;
  return text;
}

std::string measured_on(const std::vector<TraceSummary>& traces) {
  const TraceSummary& first = traces.front();
  std::string text = first.gpu;
  if (first.facts.world_size > 0)
    text += (text.empty() ? "" : ", ") + std::to_string(first.facts.world_size) + " ranks";
  if (!first.facts.nccl_version.empty()) text += ", NCCL " + first.facts.nccl_version;
  return text;
}

Seconds median_of(std::vector<Seconds> times, double share = 0.5) {
  const auto index = static_cast<std::ptrdiff_t>(share * static_cast<double>(times.size() - 1));
  std::nth_element(times.begin(), times.begin() + index, times.end());
  return times[static_cast<std::size_t>(index)];
}

class ProfileWriter {
 public:
  ProfileWriter(const std::vector<TraceSummary>& traces, const TraceContext& context)
      : traces_(traces),
        context_(context),
        source_("PyTorch trace " + joined_files(traces)),
        measured_on_(measured_on(traces)) {}

  TraceProfile finish() {
    gpu_section();
    software_section();
    product_sections();
    collective_sections();
    result_.sections = body_;
    return std::move(result_);
  }

 private:
  void note(const std::string& text) {
    if (std::find(result_.notes.begin(), result_.notes.end(), text) == result_.notes.end())
      result_.notes.push_back(text);
  }

  [[nodiscard]] std::string origin(const std::string& how) const {
    std::string text = "source = " + toml_quoted(source_ + ": " + how);
    if (!measured_on_.empty()) text += ", measured_on = " + toml_quoted(measured_on_);
    return text;
  }

  /// Of all traces together; nothing without large copies.
  [[nodiscard]] std::optional<std::pair<BytesPerSecond, std::int64_t>> copy_rate(const char* kind) const {
    double weighted = 0;
    std::int64_t count = 0;
    for (const TraceSummary& trace : traces_) {
      for (const CopySeries& copies : trace.copies) {
        if (copies.large == 0 || copies.kind.find(kind) == std::string::npos) continue;
        weighted += copies.large_rate.value * static_cast<double>(copies.large);
        count += copies.large;
      }
    }
    if (count == 0) return std::nullopt;
    return std::pair(BytesPerSecond(weighted / static_cast<double>(count)), count);
  }

  [[nodiscard]] std::string gpu_name() const { return context_.gpu.value_or(traces_.front().gpu_profile); }

  void gpu_section() {
    std::string figures;
    const auto add = [&](const char* key, BytesPerSecond rate, const std::string& how) {
      figures += std::string(key) + " = { value = \"" + number_text(rate.value / 1e9) + " GB/s\", " +
                 origin(how) + " }\n";
      result_.found.push_back(std::string(key) + ": " + print_rate(rate) + ", " + how);
    };
    for (const char* kind : {"HtoD (Pinned", "DtoH (Device -> Pinned"}) {
      if (const auto rate = copy_rate(kind)) {
        add("host_link_rate", rate->first,
            "median of " + std::to_string(rate->second) + " pinned copies of " + print_size(large_copy) +
                " or more");
        break;
      }
    }
    if (const auto rate = copy_rate("DtoD")) {
      add("memory_rate", 2 * rate->first,
          "median of " + std::to_string(rate->second) + " copies on the device of " +
              print_size(large_device_copy) + " or more, read plus written");
    }
    if (figures.empty()) return;
    if (gpu_name().empty()) {
      note("the trace does not name the GPU: copies were left out; give --gpu h100-sxm or another");
      return;
    }
    body_ += "\n[gpu]\nname = " + toml_quoted(gpu_name()) + "\n" + figures;
  }

  void software_section() {
    std::vector<Seconds> medians;
    std::int64_t launches = 0;
    bool triton = false;
    for (const TraceSummary& trace : traces_) {
      triton = triton || trace.triton;
      if (trace.launches == 0) continue;
      medians.push_back(trace.launch_median);
      launches += trace.launches;
    }
    if (medians.empty()) return;
    const Seconds time = median_of(medians);
    const std::string name = context_.software.value_or(triton ? "pytorch-compiled" : "pytorch-eager");
    const std::string how = "median of " + std::to_string(launches) +
                            " launch calls; the profiler's part is in it, the framework's is not";
    body_ += "\n[software]\nname = " + toml_quoted(name) + "\nhost_per_kernel = { value = \"" +
             number_text(time.value * 1e6) + " us\", " + origin(how) + " }\n";
    result_.found.push_back("host_per_kernel of " + name + ": " + print_time(time) + ", " + how);
    if (!context_.software) note("host_per_kernel is written for " + name + ": --software names another");
  }

  void product_sections() {
    using Shape = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::string>;
    std::map<Dtype, std::map<Shape, std::vector<Seconds>>> products;
    std::size_t without_layout = 0;
    for (const TraceSummary& trace : traces_) {
      for (const ProductSeries& one : trace.products) {
        if (one.layout != "nn" && one.layout != "nt" && one.layout != "tn") {
          ++without_layout;
          continue;
        }
        products[one.dtype][{one.rows, one.columns, one.depth, one.layout}].push_back(one.median);
      }
    }
    if (without_layout > 0)
      note(std::to_string(without_layout) +
           " shapes of products were left out: neither strides nor the kernel's name tell how operands lie");
    if (products.empty()) {
      if (without_layout == 0) note("no shapes of products in the trace: record with record_shapes=True");
      return;
    }
    if (gpu_name().empty()) {
      note("the trace does not name the GPU: products were left out; give --gpu h100-sxm or another");
      return;
    }
    for (const auto& [dtype, shapes] : products) {
      body_ += "\n[[gemm]]\ndevice = " + toml_quoted(gpu_name()) + "\ndtype = \"" +
               std::string(name_of(dtype)) +
               "\"\nsource = " + toml_quoted(source_ + ": medians of equal products") + "\n";
      if (!measured_on_.empty()) body_ += "measured_on = " + toml_quoted(measured_on_) + "\n";
      body_ += "points = [\n";
      for (const auto& [shape, times] : shapes) {
        const auto& [rows, columns, depth, layout] = shape;
        body_ += "  [" + std::to_string(rows) + ", " + std::to_string(columns) + ", " +
                 std::to_string(depth) + ", \"" + layout + "\", \"" +
                 number_text(median_of(times).value * 1e6) + " us\"],\n";
      }
      body_ += "]\n";
      result_.found.push_back("[[gemm]] " + std::string(name_of(dtype)) + ": " +
                              std::to_string(shapes.size()) + " shapes");
    }
  }

  // ---- collectives ----------------------------------------------------------------------------------------

  struct Group {
    Operation operation{};
    int ranks{}, nodes{};
    std::string fabric;
    friend auto operator<=>(const Group&, const Group&) = default;
  };

  /// How many nodes a group of ranks spans; 0, and a note, when nothing tells.
  int nodes_of(const TracedSeries& series, int ranks) {
    const LogContext& cluster = context_.cluster;
    if (cluster.nodes) {
      if (ranks % *cluster.nodes == 0) return *cluster.nodes;
      note("collectives on " + std::to_string(ranks) + " ranks were left out: they do not fill --nodes " +
           std::to_string(*cluster.nodes) + " evenly");
      return 0;
    }
    if (cluster.gpus_per_node && static_cast<int>(series.group_ranks.size()) == ranks) {
      std::set<int> nodes;
      for (const int rank : series.group_ranks) nodes.insert(rank / *cluster.gpus_per_node);
      return static_cast<int>(nodes.size());
    }
    if (cluster.gpus_per_node && ranks == traces_.front().facts.world_size)
      return (ranks + *cluster.gpus_per_node - 1) / *cluster.gpus_per_node;
    note("collectives on " + std::to_string(ranks) +
         " ranks were left out: the trace does not say on how many hosts; add --nodes, or --scenario");
    return 0;
  }

  std::optional<Group> group_of(const TracedSeries& series) {
    if (!series.operation || !series.size) return std::nullopt;  // the summary says that they have no size
    const int ranks = series.ranks > 0 ? series.ranks : context_.cluster.ranks.value_or(0);
    if (ranks == 0) {
      const int world = traces_.front().facts.world_size;
      note("collectives were left out: the trace does not say on how many ranks; add --ranks" +
           (world > 1 ? ", " + std::to_string(world) + " if all took part" : std::string()));
      return std::nullopt;
    }
    if (ranks < 2) return std::nullopt;
    Group group{*series.operation, ranks, nodes_of(series, ranks), ""};
    if (group.nodes == 0) return std::nullopt;
    const auto& links = group.nodes == 1 ? context_.cluster.node : context_.cluster.fabric;
    if (!links) {
      note(std::string("collectives ") + (group.nodes == 1 ? "inside a node" : "between nodes") +
           " were left out: add " + (group.nodes == 1 ? "--node hgx-h100" : "--fabric infiniband-400g") +
           " or another, or --scenario");
      return std::nullopt;
    }
    group.fabric = *links;
    return group;
  }

  /// Equal calls in several traces, by step and number: the least time of each call.
  struct Calls {
    std::map<std::pair<std::int64_t, int>, std::pair<Seconds, int>> least;  ///< and in how many traces
    std::vector<Seconds> all;
    int traces{};
  };

  void collect(const TraceSummary& trace, const TracedSeries& series, Calls& into) {
    ++into.traces;
    for (const TracedSeries::Call& call : series.calls) {
      into.all.push_back(call.time);
      const std::int64_t step = call.step >= 0 ? trace.steps[static_cast<std::size_t>(call.step)].number : -1;
      const auto [place, is_new] = into.least.try_emplace({step, call.number}, std::pair(call.time, 1));
      if (is_new) continue;
      place->second.first = std::min(place->second.first, call.time);
      ++place->second.second;
    }
  }

  /// The time of a series of calls, and how it was found.
  std::pair<Seconds, std::string> time_of(const Calls& calls) const {
    std::vector<Seconds> common;
    for (const auto& [call, found] : calls.least)
      if (found.second == calls.traces && calls.traces > 1) common.push_back(found.first);
    if (!common.empty())
      return {median_of(common), "from the last of " + std::to_string(calls.traces) +
                                     " ranks' starts to the common end, median of equal calls"};
    return {median_of(calls.all, 0.25),
            "lower quartile of equal calls of one rank, in which waiting for late ranks may be left"};
  }

  void collective_sections() {
    std::map<Group, std::map<double, Calls>> groups;
    for (const TraceSummary& trace : traces_) {
      for (const TracedSeries& series : trace.collectives)
        if (const auto group = group_of(series)) collect(trace, series, groups[*group][series.size->value]);
    }
    for (const auto& [group, sizes] : groups) {
      MeasuredCollective one;
      one.operation = std::string(name_of(group.operation));
      one.ranks = group.ranks;
      one.nodes = group.nodes;
      one.fabric = group.fabric;
      if (group.nodes > 1) one.link_rate = context_.cluster.link_rate;
      if (group.ranks % group.nodes == 0) one.gpus_per_node = group.ranks / group.nodes;
      one.nccl_version = traces_.front().facts.nccl_version;
      one.measured_on = measured_on_;
      std::string how;
      for (const auto& [size, calls] : sizes) {
        const auto [time, way] = time_of(calls);
        how = way;
        if (time > Seconds(0)) one.points.emplace_back(Bytes(size), time);
      }
      if (one.points.empty()) continue;
      one.source = source_ + ": " + how;
      body_ += "\n" + section_text(one);
      result_.found.push_back("[[collective]] " + one.operation + " on " + std::to_string(one.ranks) +
                              " ranks, " + one.fabric + ": " + std::to_string(one.points.size()) +
                              " sizes, " + how);
    }
  }

  const std::vector<TraceSummary>& traces_;
  const TraceContext& context_;
  std::string source_, measured_on_, body_;
  TraceProfile result_;
};

}  // namespace

TraceProfile profile_of(const std::vector<TraceSummary>& traces, const TraceContext& context) {
  return ProfileWriter(traces, context).finish();
}

}  // namespace stepcast
