#include "sim/report/insensitive.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "base/print.hpp"
#include "sim/report/wording.hpp"

namespace stepcast {
namespace {

constexpr double threshold = 1e-3;

struct Spread {
  double smallest{}, largest{};
  int points{};
};

using Groups = std::map<std::string, Spread>;

/// Step times of the points that agree in all settings but `key`.
Groups groups_without(const Report& report, const std::string& key) {
  Groups groups;
  for (const PointReport& point : report.points) {
    if (!point.invalid.empty()) continue;
    std::string others;
    for (const auto& [other, value] : point.settings) {
      if (other != key) others += other + '=' + value.to_text() + '\n';
    }
    const double time = point.step_time.value;
    const auto [place, fresh] = groups.try_emplace(others, Spread{time, time, 0});
    Spread& spread = place->second;
    spread.smallest = std::min(spread.smallest, time);
    spread.largest = std::max(spread.largest, time);
    ++spread.points;
  }
  return groups;
}

/// A note of the scenario about the key says best why: "training.bucket_size is not used by fsdp".
std::string reason_in_warnings(const Report& report, const std::string& key) {
  const std::string word = key.substr(key.rfind('.') + 1);
  std::set<std::string> strategies;
  for (const PointReport& point : report.points) {
    for (const std::string& warning : point.warnings) {
      const bool about_key = warning.find(word) != std::string::npos;
      if (about_key && warning.find("not use") != std::string::npos) strategies.insert(point.strategy);
    }
  }
  std::string text;
  for (const std::string& strategy : strategies) text += (text.empty() ? "not used by " : ", ") + strategy;
  return text;
}

bool concerns_network(const std::string& key) {
  static const std::set<std::string> keys = {"cluster.fabric",
                                             "cluster.link_rate",
                                             "cluster.link_latency",
                                             "cluster.nics_per_node",
                                             "cluster.topology",
                                             "cluster.oversubscription",
                                             "cluster.core_oversubscription",
                                             "cluster.routing",
                                             "cluster.routing_seed",
                                             "cluster.dragonfly_group",
                                             "cluster.dragonfly_links",
                                             "cluster.torus",
                                             "cluster.torus_link_rate"};
  return keys.count(key) > 0;
}

std::string reason_for(const Report& report, const std::string& key) {
  if (const std::string named = reason_in_warnings(report, key); !named.empty()) return named;
  bool several_nodes = false;
  Seconds moving, exposed, steps;
  for (const PointReport& point : report.points) {
    if (!point.invalid.empty()) continue;
    several_nodes = several_nodes || point.nodes > 1;
    for (const CommunicationRow& row : point.communication) moving += row.time;
    exposed += point.breakdown.exposed_communication;
    steps += point.step_time;
  }
  if (moving <= Seconds(0)) return "nothing is communicated";
  if (concerns_network(key) && !several_nodes) return "one node does not use the network between nodes";
  constexpr double little = 0.02;
  if (exposed < little * steps) return "hidden under backward";
  if (concerns_network(key)) return "other links set the pace of what is exposed";
  return "what it changes is hidden under other work";
}

}  // namespace

std::vector<InsensitiveKey> insensitive_keys(const Report& report) {
  std::vector<InsensitiveKey> found;
  for (const std::string& key : varying_keys(report)) {
    double largest = 0;
    bool compared = false;
    for (const auto& [others, spread] : groups_without(report, key)) {
      compared = compared || spread.points > 1;
      largest = std::max(largest, spread.largest / spread.smallest - 1);
    }
    if (compared && largest < threshold) found.push_back({key, largest, reason_for(report, key)});
  }
  return found;
}

}  // namespace stepcast
