#include "calibrate/verify/findings.hpp"

#include <algorithm>
#include <map>

#include "base/print.hpp"
#include "sim/report/collective_interval.hpp"
#include "sim/report/collective_model.hpp"
#include "sim/report/collective_table.hpp"
#include "sim/report/nccl_tests.hpp"

namespace stepcast {
namespace {

std::vector<BytesPerSecond> bus_bandwidths(const Scenario& scenario, Operation operation,
                                           const std::vector<Bytes>& sizes) {
  const Profile profile = collective_profile(scenario);
  const auto model = collective_model(scenario, profile);
  std::vector<BytesPerSecond> rates;
  for (const CollectiveRow& row : collective_rows(*model, operation, sizes))
    rates.push_back(row.bus_bandwidth);
  return rates;
}

}  // namespace

std::string hardware_of(const Scenario& scenario) {
  const ClusterSection& cluster = scenario.cluster;
  std::string text = std::to_string(cluster.nodes) + " x " + std::to_string(cluster.gpus_per_node) +
                     (cluster.node_spec.host_device ? " cores of " : " GPUs of ") + cluster.node_spec.name;
  return cluster.nodes > 1 ? text + ", " + cluster.fabric_spec.name : text;
}

void leave_profiles_aside(Scenario& scenario, std::vector<std::string>& notes) {
  if (scenario.cluster.profiles.empty()) return;
  scenario.cluster.profiles.clear();
  notes.push_back(
      "the scenario's own profiles are left aside: the shipped figures say what the hardware should reach");
}

std::optional<Finding> finding_of(const std::string& what, std::vector<ComparedFigure> figures) {
  if (figures.empty()) return std::nullopt;
  std::vector<double> shares;
  for (const ComparedFigure& figure : figures) shares.push_back(figure.performance());
  std::sort(shares.begin(), shares.end());
  const double median = 0.5 * (shares[(shares.size() - 1) / 2] + shares[shares.size() / 2]);
  if (!(median < faulty)) return std::nullopt;
  Finding finding;
  finding.what = what;
  finding.figures = std::move(figures);
  finding.performance = median;
  return finding;
}

void compare_collective_times(Diagnosis& diagnosis, const Scenario& scenario, Operation operation,
                              const std::vector<std::pair<Bytes, Seconds>>& times, const Testimony& said) {
  const int ranks = scenario.gpus();
  const std::string name =
      std::string(nccl_tests_name(operation)) + " on " + std::to_string(ranks) + " ranks";
  std::vector<Bytes> sizes;
  for (const auto& [size, time] : times) sizes.push_back(size);
  const std::vector<BytesPerSecond> expected = bus_bandwidths(scenario, operation, sizes);

  std::map<const SizeBand*, std::vector<std::size_t>> bands;  // places of their sizes
  std::vector<ComparedFigure> figures;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const BytesPerSecond measured =
        CollectiveModel::bus_bandwidth(operation, times[i].first, ranks, times[i].second);
    figures.push_back({name + ", " + print_size(times[i].first), ComparedFigure::Unit::bytes_per_second,
                       measured.value, expected[i].value});
    bands[&collective_band(times[i].first)].push_back(i);
  }
  diagnosis.figures.insert(diagnosis.figures.end(), figures.begin(), figures.end());

  // Latency and rate suffer from different things, so every band of sizes is judged by itself; what is faulty
  // of them has one cause.
  std::vector<std::size_t> slow;
  for (const auto& [band, places] : bands) {
    std::vector<ComparedFigure> of_band;
    for (const std::size_t place : places) of_band.push_back(figures[place]);
    if (finding_of("", of_band)) slow.insert(slow.end(), places.begin(), places.end());
  }
  if (slow.empty()) return;
  std::sort(slow.begin(), slow.end());
  std::vector<ComparedFigure> slow_figures;
  std::vector<Bytes> slow_sizes;
  for (const std::size_t place : slow) {
    slow_figures.push_back(figures[place]);
    slow_sizes.push_back(sizes[place]);
  }
  const std::string range = slow.size() == 1
                                ? print_size(slow_sizes.front())
                                : print_size(slow_sizes.front()) + " to " + print_size(slow_sizes.back());
  auto finding = finding_of(name + ", " + range, std::move(slow_figures));
  STEPCAST_CHECK(finding.has_value(), "bands that are slow are slow together");
  add_suspects(*finding, scenario, said, [&](const Scenario& broken) {
    std::vector<double> rates;
    for (const BytesPerSecond rate : bus_bandwidths(broken, operation, slow_sizes))
      rates.push_back(rate.value);
    return rates;
  });
  diagnosis.findings.push_back(std::move(*finding));
}

}  // namespace stepcast
