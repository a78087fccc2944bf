#include "sim/report/anomalies.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "base/print.hpp"
#include "sim/report/wording.hpp"

namespace stepcast {
namespace {

constexpr double threshold = 0.01;

std::string name_of_choice(const CollectiveChoice& choice, bool with_channels) {
  std::string text = choice.algorithm + "/" + choice.protocol;
  if (with_channels) text += " on " + plural(static_cast<std::size_t>(choice.channels), "channel");
  return text;
}

bool same(const CollectiveChoice& a, const CollectiveChoice& b) {
  return a.algorithm == b.algorithm && a.protocol == b.protocol && a.channels == b.channels;
}

/// The choice that `row` makes more often than `other` by the most calls, and by how many.
std::pair<const CollectiveChoice*, double> gained(const CommunicationRow& row,
                                                  const CommunicationRow& other) {
  std::pair<const CollectiveChoice*, double> most{nullptr, 0.5};
  for (const CollectiveChoice& choice : row.choices) {
    const auto before = std::find_if(other.choices.begin(), other.choices.end(),
                                     [&](const CollectiveChoice& one) { return same(one, choice); });
    const double more = choice.count - (before == other.choices.end() ? 0 : before->count);
    if (more > most.second) most = {&choice, more};
  }
  return most;
}

std::string describe(const CommunicationRow& row, const CommunicationRow& before) {
  const auto [now, calls] = gained(row, before);
  const auto [was, lost] = gained(before, row);
  if (now == nullptr || was == nullptr) return "";
  const bool only_channels = now->algorithm == was->algorithm && now->protocol == was->protocol;
  std::string text = row.operation + " (" + row.group + ")";
  if (calls < row.count - 0.5) {
    text += ": " + print_integer(calls) + " of its " + print_integer(row.count) + " calls a step run as ";
  } else {
    text += " runs as ";
  }
  return text + name_of_choice(*now, only_channels) + " instead of " + name_of_choice(*was, only_channels);
}

BytesPerSecond rate_of_node(const FabricSpec& network) {
  return network.nics_per_node * network.efficiency * network.link_rate;
}

std::string nics_of(const FabricSpec& network) {
  return plural(static_cast<std::size_t>(network.nics_per_node), "NIC") + " per node";
}

std::string cause_of(const PointReport& point, const PointReport& other) {
  const FabricSpec& now = point.network;
  const FabricSpec& before = other.network;
  const std::string counts = now.name + " has " + nics_of(now) + ", " + before.name + " " + nics_of(before);
  const bool fewer = now.nics_per_node < before.nics_per_node;
  constexpr double rounding = 1e-9;
  if (rate_of_node(now) < (1 - rounding) * rate_of_node(before)) {
    const std::string rates = print_rate(rate_of_node(now)) + " instead of " +
                              print_rate(rate_of_node(before)) + " per node in all";
    return fewer ? counts + ": " + rates : now.name + " reaches a smaller share of its line rate: " + rates;
  }
  if (const std::string changed = changed_choice(point, other); !changed.empty()) {
    return changed + ": each communicator chooses as if it were alone";
  }
  if (now.nics_per_node != before.nics_per_node) return counts;
  if (now.link_latency > before.link_latency) {
    return "a message takes " + print_time(now.link_latency) + " instead of " +
           print_time(before.link_latency);
  }
  return "scheduling (the same calls meet other kernels and calls)";
}

/// All settings but `key`, and the kind of network: points with the same text differ in the rate alone.
std::string rest_of(const PointReport& point, const std::string& key) {
  std::string text = std::string(name_of(point.network.transport)) + '\n';
  for (const auto& [name, value] : point.settings) {
    if (name != key) text += name + '=' + value.to_text() + '\n';
  }
  return text;
}

std::string text_of(const Report& report, const Anomaly& anomaly) {
  const PointReport& point = report.points[anomaly.point];
  const PointReport& other = report.points[anomaly.slower_network];
  return anomaly_start + label(report, point) + " takes " + print_time(point.step_time) + ", " +
         print_share(anomaly.longer) + " longer than " + label(report, other) + " (" +
         print_time(other.step_time) + "): " + cause_of(point, other);
}

}  // namespace

std::string changed_choice(const PointReport& point, const PointReport& other) {
  std::string text;
  Seconds most;
  for (const CommunicationRow& row : point.communication) {
    const auto before = std::find_if(
        other.communication.begin(), other.communication.end(), [&](const CommunicationRow& candidate) {
          return candidate.operation == row.operation && candidate.group == row.group;
        });
    if (before == other.communication.end()) continue;
    const std::string change = describe(row, *before);
    const Seconds longer = row.exposed - before->exposed;
    if (change.empty() || (!text.empty() && longer <= most)) continue;
    text = change;
    most = longer;
  }
  return text;
}

std::vector<Anomaly> rate_anomalies(const Report& report) {
  std::map<std::size_t, Anomaly> found;  // by point: the worst of both keys
  for (const std::string key : {"cluster.link_rate", "cluster.fabric"}) {
    std::map<std::string, std::vector<std::size_t>> groups;
    for (std::size_t i = 0; i < report.points.size(); ++i) {
      if (report.points[i].invalid.empty()) groups[rest_of(report.points[i], key)].push_back(i);
    }
    for (auto& [rest, points] : groups) {
      const auto rate = [&](std::size_t i) { return report.points[i].network.link_rate; };
      std::stable_sort(points.begin(), points.end(), [&](auto a, auto b) { return rate(a) < rate(b); });
      std::optional<std::size_t> shortest;  // among lower rates
      std::size_t passed = 0;
      for (const std::size_t i : points) {
        for (; rate(points[passed]) < rate(i); ++passed) {
          const PointReport& lower = report.points[points[passed]];
          if (!shortest || lower.step_time <= report.points[*shortest].step_time) shortest = points[passed];
        }
        if (!shortest) continue;
        const double longer = report.points[i].step_time / report.points[*shortest].step_time - 1;
        if (longer <= threshold) continue;
        Anomaly& worst = found[i];
        if (longer > worst.longer) worst = {i, *shortest, longer, {}};
      }
    }
  }
  std::vector<Anomaly> anomalies;
  for (auto& [point, anomaly] : found) {
    anomaly.text = text_of(report, anomaly);
    anomalies.push_back(std::move(anomaly));
  }
  std::stable_sort(anomalies.begin(), anomalies.end(),
                   [](const Anomaly& a, const Anomaly& b) { return a.longer > b.longer; });
  return anomalies;
}

}  // namespace stepcast
