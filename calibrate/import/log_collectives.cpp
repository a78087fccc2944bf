#include "calibrate/import/log_collectives.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>

#include "base/diagnostic.hpp"
#include "calibrate/cuda/device_name.hpp"
#include "sim/report/nccl_tests.hpp"
#include "topology/fabric.hpp"
#include "topology/node.hpp"

namespace stepcast {
namespace {

/// "infiniband", "roce", ...: the first word of a fabric's name, by what NCCL says of its network.
std::string transport_of(const NcclTestsRun& run) {
  if (run.network == "IB") return run.cards == "RoCE" ? "roce" : run.cards == "IB" ? "infiniband" : "";
  if (run.network == "Socket" || run.network == "FastSocket") return "ethernet";
  if (run.network.find("Libfabric") != std::string::npos) return "efa";
  if (run.network.find("TCPX") != std::string::npos || run.network == "FasTrak") return "tcpx";
  return "";
}

/// "roce-100g" where both the kind and the rate of the cards are printed; else nothing.
std::string fabric_of(const NcclTestsRun& run) {
  const std::string transport = transport_of(run);
  if (transport.empty() || !run.card_rate || run.network != "IB") return "";
  char text[64];
  std::snprintf(text, sizeof text, "%s-%.0fg", transport.c_str(), run.card_rate->value * 8 / 1e9);
  return text;
}

/// A shipped node with this GPU, as the driver calls it; another one where none has it.
std::string node_with(const std::string& gpu) {
  SourcePlace place;
  for (const std::string& name : node_preset_names())
    if (load_node(name, place).gpu == gpu_profile_name(gpu)) return name;
  return "hgx-h100";
}

std::string joined(const std::vector<std::string>& parts, const char* between) {
  std::string text;
  for (const std::string& part : parts)
    if (!part.empty()) text += (text.empty() ? "" : between) + part;
  return text;
}

/// "NVIDIA H100 80GB HBM3; node1 node2; NCCL 2.27.7; 2024-05-01".
std::string measured_on(const NcclTestsRun& run) {
  std::vector<std::string> hosts, gpus;
  for (const NcclTestsRank& place : run.places) {
    if (std::find(hosts.begin(), hosts.end(), place.host) == hosts.end()) hosts.push_back(place.host);
    if (std::find(gpus.begin(), gpus.end(), place.gpu) == gpus.end()) gpus.push_back(place.gpu);
  }
  constexpr std::size_t most_named = 4;
  const std::size_t count = hosts.size();
  if (count > most_named)
    hosts = {hosts.front(), "...", hosts.back(), "(" + std::to_string(count) + " hosts)"};
  return joined({joined(gpus, ", "), joined(hosts, " "),
                 run.nccl_version.empty() ? "" : "NCCL " + run.nccl_version, run.date},
                "; ");
}

/// Times of one operation on one group.
struct Series {
  MeasuredCollective what;
  std::map<double, std::vector<double>> seconds;  ///< by size in bytes
  std::set<std::string> files;
};

class Collector {
 public:
  explicit Collector(const LogContext& context) : context_(context) {}

  void add(const NcclTestsLog& log, const NcclTestsRun& run) {
    file_ = log.file;
    line_ = run.line;
    MeasuredCollective what;
    const auto operation = operation_of(run);
    const int ranks = ranks_of(run);
    const int nodes = nodes_of(run, ranks);
    if (ranks == 1) {
      note(log.file + ": a run of one rank measures no network; left out");
      return;
    }
    what.ranks = ranks;
    what.nodes = nodes;
    if (nodes > 0) set_links(run, what);
    if (!operation || ranks == 0 || nodes == 0 || what.fabric.empty()) return;
    what.operation = std::string(name_of(*operation));
    what.nccl_version = run.nccl_version;
    what.measured_on = measured_on(run);
    if (ranks % nodes == 0) what.gpus_per_node = ranks / nodes;
    Series& series = series_of(what);
    series.files.insert(log.file);
    for (const NcclTestsRow& row : run.rows) {
      const auto& half = context_.in_place ? row.in_place : row.out_of_place;
      if (half) series.seconds[row.size.value].push_back(half->time.value);
    }
    if (run.threads * run.gpus_per_thread > 1) {
      note(log.file + " drives " + std::to_string(run.threads * run.gpus_per_thread) +
           " GPUs from one process, which adds some microseconds for each to every call; training does not");
    }
  }

  LogCollectives finish() {
    if (!faults_.empty()) throw ScenarioError(std::move(faults_));
    for (Series& series : series_) {
      if (series.seconds.empty()) continue;
      std::string files;
      for (const std::string& file : series.files) files += (files.empty() ? "" : ", ") + file;
      series.what.source = "nccl-tests log " + files + (context_.in_place ? ", in place" : ", out of place");
      for (const auto& [size, seconds] : series.seconds) {
        double logarithms = 0;
        for (const double time : seconds) logarithms += std::log(time);
        series.what.points.emplace_back(Bytes(size),
                                        Seconds(std::exp(logarithms / static_cast<double>(seconds.size()))));
      }
      result_.collectives.push_back(std::move(series.what));
    }
    if (result_.collectives.empty()) {
      SourcePlace place;
      place.file = file_;
      place.line = place.column = 1;
      throw ScenarioError(Diagnostic{
          place, std::string("no ") + (context_.in_place ? "in-place" : "out-of-place") + " times in the log",
          context_.in_place ? "leave --in-place out" : "try --in-place"});
    }
    return std::move(result_);
  }

 private:
  void note(const std::string& text) {
    if (std::find(result_.notes.begin(), result_.notes.end(), text) == result_.notes.end())
      result_.notes.push_back(text);
  }

  /// Once a file and question: a log of thirty runs asks once.
  void ask(const std::string& message, const std::string& hint) {
    if (!asked_.insert(file_ + message).second) return;
    SourcePlace place;
    place.file = file_;
    place.line = line_;
    place.column = 1;
    faults_.push_back({place, message, hint});
  }

  std::optional<Operation> operation_of(const NcclTestsRun& run) {
    if (run.operation) return run.operation;
    if (context_.operation) return context_.operation;
    ask("the log does not say which operation was run",
        "add --operation, for example --operation all_reduce");
    return std::nullopt;
  }

  int ranks_of(const NcclTestsRun& run) {
    const auto [least, most] = run.ranks_between;
    if (run.ranks > 0 && least == most) return run.ranks;
    if (context_.ranks && (run.ranks == 0 || (*context_.ranks >= least && *context_.ranks <= most)))
      return *context_.ranks;
    if (run.ranks == 0) {
      ask("the log does not say how many ranks took part", "add --ranks, for example --ranks 16");
    } else if (context_.ranks) {
      ask("the bandwidths of this table belong to " + std::to_string(least) + " to " + std::to_string(most) +
              " ranks, not to " + std::to_string(*context_.ranks),
          "give with --ranks how many it was run on");
    } else {
      ask("the log does not say how many ranks took part; its bandwidths allow " + std::to_string(least) +
              " to " + std::to_string(most),
          "add --ranks");
    }
    return 0;
  }

  int nodes_of(const NcclTestsRun& run, int ranks) {
    if (const int nodes = run.nodes()) return nodes;
    if (ranks == 0) return 0;  // asked for already
    if (context_.nodes) {
      if (ranks % *context_.nodes == 0) return *context_.nodes;
      ask(std::to_string(ranks) + " ranks do not fill " + std::to_string(*context_.nodes) + " hosts evenly",
          "give with --nodes on how many hosts this log was taken: at most its ranks, and a divisor of them");
      return 0;
    }
    if (context_.gpus_per_node) {
      const int gpus = *context_.gpus_per_node;
      if (ranks <= gpus) return 1;
      if (ranks % gpus == 0) return ranks / gpus;
    }
    ask("the log does not say on how many hosts its " + std::to_string(ranks) + " ranks ran",
        "add --nodes, with --node where it is 1 and --fabric above, for example --nodes 2 --fabric "
        "infiniband-200g; or --scenario with its [cluster]");
    return 0;
  }

  /// The link class: a node type inside one node, a fabric between nodes.
  void set_links(const NcclTestsRun& run, MeasuredCollective& what) {
    if (what.nodes == 1) {
      if (context_.node) {
        what.fabric = *context_.node;
      } else {
        const std::string gpu = run.places.empty() ? "" : run.places.front().gpu;
        ask("a log does not say what links the GPUs" + (gpu.empty() ? "" : " of " + gpu) + " inside a node",
            "add --node with the node type of your scenarios, for example --node " + node_with(gpu) +
                ", or --scenario");
      }
      return;
    }
    what.fabric = context_.fabric.value_or(fabric_of(run));
    if (what.fabric.empty()) {
      const std::string transport = transport_of(run);
      const std::string example = (transport.empty() ? "infiniband" : transport) + "-200g";
      ask(transport.empty() ? "the log does not say which network it ran over"
                            : "the log says " + run.network + ", but not the rate of a card",
          "add --fabric, for example --fabric " + example + ", or --scenario");
      return;
    }
    if (!context_.fabric) note(file_ + ": NCCL's INFO lines say " + what.fabric);
    what.link_rate = context_.link_rate;
    if (!what.link_rate) {
      SourcePlace place;
      place.file = "--fabric";
      what.link_rate = load_fabric(what.fabric, place).link_rate;
    }
  }

  Series& series_of(const MeasuredCollective& what) {
    for (Series& series : series_) {
      const MeasuredCollective& known = series.what;
      if (known.operation == what.operation && known.ranks == what.ranks && known.nodes == what.nodes &&
          known.fabric == what.fabric && known.nccl_version == what.nccl_version &&
          known.measured_on == what.measured_on)
        return series;
    }
    for (const Series& series : series_) {
      const MeasuredCollective& known = series.what;
      if (known.operation == what.operation && known.ranks == what.ranks && known.nodes == what.nodes &&
          known.fabric == what.fabric)
        note("there are two measurements of " + what.operation + " on " + std::to_string(what.ranks) +
             " ranks: the later one counts");
    }
    series_.push_back({what, {}, {}});
    return series_.back();
  }

  const LogContext& context_;
  LogCollectives result_;
  std::vector<Series> series_;
  std::vector<Diagnostic> faults_;
  std::set<std::string> asked_;
  std::string file_;
  unsigned line_{};
};

}  // namespace

LogCollectives collectives_of(const std::vector<NcclTestsLog>& logs, const LogContext& context) {
  Collector collector(context);
  for (const NcclTestsLog& log : logs)
    for (const NcclTestsRun& run : log.runs) collector.add(log, run);
  return collector.finish();
}

}  // namespace stepcast
