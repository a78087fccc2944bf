#include "sim/report/scaling.hpp"

#include <algorithm>
#include <map>

#include "base/print.hpp"
#include "sim/report/anomalies.hpp"
#include "sim/report/wording.hpp"

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

/// "CAUSE: ", or nothing where it is not known.
std::string cause_of_less_communication(const PointReport& point, const PointReport& baseline) {
  if (baseline.gpus_per_node < point.gpus_per_node) {
    std::string text = "the baseline has fewer GPUs per node (" + std::to_string(baseline.gpus_per_node) +
                       " instead of " + std::to_string(point.gpus_per_node) + ")";
    if (baseline.nics_used > 0 && baseline.nics_used < point.nics_used) {
      text += ", which use " + plural(static_cast<std::size_t>(baseline.nics_used), "NIC") +
              " per node instead of " + std::to_string(point.nics_used) +
              ", so it waits longer for the network";
    }
    return text + ": ";
  }
  const std::string changed = changed_choice(point, baseline);
  return changed.empty() ? "" : changed + ": ";
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
  const std::int64_t batch = smallest.global_batch_size();
  if (batch % scenario.data_parallel_size() != 0) return std::nullopt;
  const std::int64_t per_gpu = batch / scenario.data_parallel_size();
  const int micro = smallest.training.micro_batch_size;
  Scenario companion = scenario;
  if (per_gpu % micro == 0) {
    companion.training.micro_batch_size = micro;
    companion.training.gradient_accumulation_steps = static_cast<int>(per_gpu / micro);
    return companion;
  }
  const bool micro_is_fixed = !scenario.model.request.workload.empty() && !scenario.model.scale_compute;
  if (per_gpu > micro || micro_is_fixed) return std::nullopt;
  companion.training.micro_batch_size = static_cast<int>(per_gpu);
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
  struct Reason {
    double gain{};
    std::string text;
  };
  std::vector<Reason> reasons;
  // Per sample, since the two may do different numbers of them in a step.
  const auto add_if_shrank = [&](Seconds Breakdown::*part, const auto& text_for) {
    const double now =
        (point.breakdown.*part).value / static_cast<double>(point.global_batch_size) * point.gpus;
    const double was =
        (baseline.breakdown.*part).value / static_cast<double>(baseline.global_batch_size) * baseline.gpus;
    if (now >= was) return;
    const std::string times =
        " takes " + print_time(Seconds(was)) + " -> " + print_time(Seconds(now)) + " per GPU and sample";
    reasons.push_back({was - now, text_for(times)});
  };
  const auto named = [](const char* what) {
    return [what](const std::string& times) { return what + times; };
  };
  std::string notes;
  for (const std::string& note : point.efficiency_notes) notes += (notes.empty() ? "" : "; ") + note;
  if (notes.empty()) {
    add_if_shrank(&Breakdown::optimizer, named("the optimizer"));
    add_if_shrank(&Breakdown::compute, named("computing"));
  } else {
    const auto of_shards = [&](const std::string&) { return notes; };
    add_if_shrank(&Breakdown::optimizer, of_shards);
    if (reasons.empty()) add_if_shrank(&Breakdown::compute, of_shards);
  }
  add_if_shrank(&Breakdown::exposed_communication, [&](const std::string& times) {
    return cause_of_less_communication(point, baseline) + "exposed communication" + times;
  });
  add_if_shrank(&Breakdown::host, named("the CPU"));
  std::stable_sort(reasons.begin(), reasons.end(),
                   [](const Reason& a, const Reason& b) { return a.gain > b.gain; });
  std::string text;
  for (const Reason& reason : reasons) text += (text.empty() ? "" : "; ") + reason.text;
  return text.empty() ? "no part of the step shrank" : text;
}

}  // namespace stepcast
