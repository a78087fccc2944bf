#include <set>
#include <stdexcept>
#include <tuple>

#include "sim/scenario/dotted_path.hpp"
#include "sim/scenario/read.hpp"
#include "sim/scenario/scenario.hpp"

namespace stepcast {
namespace {

/// The same fault found at many points is one fault.
class FaultSet {
 public:
  void add(const std::vector<Diagnostic>& found) {
    for (const Diagnostic& fault : found) {
      if (seen_.emplace(fault.place.file, fault.place.line, fault.place.column, fault.message).second) {
        faults_.push_back(fault);
      }
    }
  }
  void add_present(const std::vector<Diagnostic>& found) {
    for (const Diagnostic& fault : found) {
      if (fault.message.find("is missing") == std::string::npos) add({fault});
    }
  }
  [[nodiscard]] std::vector<Diagnostic> take() { return std::move(faults_); }
  [[nodiscard]] bool empty() const { return faults_.empty(); }

 private:
  std::set<std::tuple<std::string, unsigned, unsigned, std::string>> seen_;
  std::vector<Diagnostic> faults_;
};

/// A smaller cluster may lack the switch that a fault or another job's traffic is at.
void drop_what_is_not_there(Scenario& scenario) {
  ClusterSection& cluster = scenario.cluster;
  const auto builds = [&](std::vector<LinkFault> faults, std::vector<BackgroundLoad> background) {
    ClusterRequest request = request_of(cluster);
    request.faults = std::move(faults);
    request.background = std::move(background);
    try {
      const Cluster built(request);
      return true;
    } catch (const std::invalid_argument&) {
      return false;
    }
  };
  std::erase_if(cluster.faults, [&](const LinkFault& fault) { return !builds({fault}, {}); });
  std::erase_if(cluster.background,
                [&](const BackgroundLoad& load) { return !builds(cluster.faults, {load}); });
}

}  // namespace

std::size_t ScenarioFile::point_count() const {
  std::size_t count = 1;
  for (const Swept& key : swept) count *= key.values.size();
  return count;
}

std::vector<ScenarioPoint> expand(const ScenarioFile& file) {
  const std::size_t count = file.point_count();
  std::vector<ScenarioPoint> points;
  points.reserve(count);
  ReadCache cache;
  FaultSet faults;
  // Values that a sweep replaces are still values of the file; what is missing there may come from the sweep.
  if (!file.swept.empty()) faults.add_present(read_scenario(file.document, cache).faults);
  for (std::size_t number = 0; number < count; ++number) {
    Value document = file.document;
    ScenarioPoint point;
    std::size_t rest = number;
    std::size_t block = count;
    for (const ScenarioFile::Swept& swept : file.swept) {
      block /= swept.values.size();
      const Value& value = swept.values[rest / block];
      rest %= block;
      point.settings.emplace_back(swept.key, value);
      std::vector<Diagnostic> misplaced;
      assign_dotted(document, swept.key, value, misplaced);
      faults.add(misplaced);
    }
    for (const std::string& key : file.set_keys) {
      const Value* value = find_dotted(document, key);
      if (value != nullptr) point.settings.emplace_back(key, *value);
    }
    ReadResult result = read_scenario(document, cache);
    faults.add(result.faults);
    if (!result.faults.empty()) continue;
    if (result.impossible.empty()) {
      auto& profiles = result.scenario.cluster.profiles;
      profiles.insert(profiles.end(), file.profiles.begin(), file.profiles.end());
      point.scenario = std::move(result.scenario);
    } else if (file.swept.empty()) {
      faults.add(result.impossible);
    } else {
      point.invalid = result.impossible.front().message;
      point.fault = result.impossible.front();
    }
    points.push_back(std::move(point));
  }
  if (!faults.empty()) throw ScenarioError(faults.take());
  return points;
}

Scenario cluster_of(const ScenarioFile& file) {
  Value document = file.document;
  std::vector<Diagnostic> faults;
  for (const ScenarioFile::Swept& swept : file.swept) {
    const bool counts = swept.key.starts_with("cluster.") || swept.key.starts_with("nccl.") ||
                        swept.key.starts_with("background.");
    if (!counts) continue;
    if (swept.values.size() > 1) {
      SourcePlace place = swept.place;
      if (place.file.empty()) place.file = file.file;
      faults.push_back({place,
                        swept.key + " is swept over " + std::to_string(swept.values.size()) +
                            " values, and this command takes one cluster",
                        "choose one, for example --set " + swept.key + "=" + swept.values.back().to_text()});
      continue;
    }
    assign_dotted(document, swept.key, swept.values.front(), faults);
  }
  if (!faults.empty()) throw ScenarioError(std::move(faults));
  ReadCache cache;
  ReadResult read = read_cluster_only(document, cache);
  read.faults.insert(read.faults.end(), read.impossible.begin(), read.impossible.end());
  if (!read.faults.empty()) throw ScenarioError(std::move(read.faults));
  auto& profiles = read.scenario.cluster.profiles;
  profiles.insert(profiles.end(), file.profiles.begin(), file.profiles.end());
  return std::move(read.scenario);
}

std::optional<Scenario> with_nodes(const Scenario& scenario, int nodes) {
  Scenario changed = scenario;
  changed.cluster.nodes = nodes;
  if (changed.cluster.topology == "torus" && nodes != scenario.cluster.nodes) {
    if (nodes > 1) return {};  // of which sizes?
    changed.cluster.torus = {1, 1};
  }
  if (nodes != scenario.cluster.nodes) drop_what_is_not_there(changed);
  TrainingSection& training = changed.training;
  if (training.strategy == Strategy::hsdp &&
      (training.shard_degree > changed.gpus() || changed.gpus() % training.shard_degree != 0)) {
    return {};
  }
  if (training.global_batch_given) {
    const std::int64_t at_once = std::int64_t{training.micro_batch_size} * changed.data_parallel_size();
    if (scenario.global_batch_size() % at_once != 0) return {};
    training.gradient_accumulation_steps = static_cast<int>(scenario.global_batch_size() / at_once);
  }
  return changed;
}

}  // namespace stepcast
