#include "sim/report/scaling.hpp"

#include <algorithm>
#include <map>

#include "base/print.hpp"

namespace stepcast {
namespace {

bool is_size_key(const std::string& key) { return key == "cluster.nodes" || key == "cluster.gpus_per_node"; }

bool is_batch_key(const std::string& key) {
  return key == "training.gradient_accumulation_steps" || key == "training.micro_batch_size" ||
         key == "training.global_batch_size";
}

std::string group_key(const std::vector<std::pair<std::string, Value>>& settings, bool with_batch) {
  std::string text;
  for (const auto& [key, value] : settings) {
    if (is_size_key(key) || (!with_batch && is_batch_key(key))) continue;
    text += key + '=' + value.to_text() + '\n';
  }
  return text;
}

}  // namespace

std::vector<ScalingGroup> scaling_groups(const std::vector<ScenarioPoint>& points) {
  std::vector<ScalingGroup> groups;
  std::map<std::string, std::size_t> place_of;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!points[i].scenario) continue;
    const auto [place, fresh] = place_of.try_emplace(group_key(points[i].settings, true), groups.size());
    if (fresh) groups.push_back({{}, i, false});
    ScalingGroup& group = groups[place->second];
    group.points.push_back(i);
    const int gpus = points[i].scenario->gpus(), fewest = points[group.smallest].scenario->gpus();
    if (gpus != fewest) group.sizes_differ = true;
    if (gpus < fewest) group.smallest = i;
  }
  return groups;
}

Scenario weak_companion(const Scenario& scenario, const Scenario& smallest) {
  Scenario companion = scenario;
  companion.training.micro_batch_size = smallest.training.micro_batch_size;
  companion.training.gradient_accumulation_steps = smallest.training.gradient_accumulation_steps;
  return companion;
}

std::optional<Scenario> strong_companion(const Scenario& scenario, const Scenario& smallest) {
  const int batch = smallest.global_batch_size();
  if (batch % scenario.data_parallel_size() != 0) return std::nullopt;
  const int per_gpu = batch / scenario.data_parallel_size();
  const int micro = smallest.training.micro_batch_size;
  Scenario companion = scenario;
  if (per_gpu % micro == 0) {
    companion.training.micro_batch_size = micro;
    companion.training.gradient_accumulation_steps = per_gpu / micro;
    return companion;
  }
  const bool micro_is_fixed = !scenario.model.request.workload.empty() && !scenario.model.scale_compute;
  if (per_gpu > micro || micro_is_fixed) return std::nullopt;
  companion.training.micro_batch_size = per_gpu;
  companion.training.gradient_accumulation_steps = 1;
  return companion;
}

std::vector<std::pair<std::string, Value>> settings_with_nodes(
    std::vector<std::pair<std::string, Value>> settings, int nodes) {
  const Value value = Value::of(static_cast<std::int64_t>(nodes));
  for (auto& [key, old] : settings) {
    if (key == "cluster.nodes") {
      old = value;
      return settings;
    }
  }
  settings.emplace_back("cluster.nodes", value);
  return settings;
}

std::string signature(const std::vector<std::pair<std::string, Value>>& settings, const Scenario& scenario) {
  std::string text = group_key(settings, false);
  for (const int number :
       {scenario.cluster.nodes, scenario.cluster.gpus_per_node, scenario.training.micro_batch_size,
        scenario.training.gradient_accumulation_steps}) {
    text += std::to_string(number) + '\n';
  }
  return text;
}

std::string reason_for_superlinear(const PointReport& point, const PointReport& baseline) {
  std::string reasons;
  const auto add = [&](const std::string& reason) { reasons += (reasons.empty() ? "" : "; ") + reason; };
  for (const std::string& note : point.efficiency_notes) add(note);
  if (!reasons.empty()) return reasons;
  // Per sample, since the two may do different numbers of them in a step.
  const auto shrank = [&](Seconds now, Seconds before, const std::string& what) {
    const double per_sample = now.value / point.global_batch_size * point.gpus;
    const double was = before.value / baseline.global_batch_size * baseline.gpus;
    if (per_sample < was) {
      add(what + " takes " + print_time(Seconds(was)) + " -> " + print_time(Seconds(per_sample)) +
          " per GPU and sample");
    }
  };
  shrank(point.breakdown.optimizer, baseline.breakdown.optimizer, "the optimizer, whose shard shrinks,");
  shrank(point.breakdown.compute, baseline.breakdown.compute, "work on the shard (casts, copies)");
  shrank(point.breakdown.exposed_communication, baseline.breakdown.exposed_communication,
         "exposed communication, by a faster algorithm or smaller shards,");
  shrank(point.breakdown.host, baseline.breakdown.host, "the CPU");
  return reasons.empty() ? "no part of the step shrank" : reasons;
}

}  // namespace stepcast
