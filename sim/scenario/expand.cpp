#include <set>
#include <tuple>

#include "sim/scenario/read.hpp"
#include "sim/scenario/scenario.hpp"

namespace stepcast {
namespace detail {
void set_dotted(Value& document, const std::string& path, const Value& value);  // load.cpp
}
namespace {

const Value* find_dotted(const Value& document, const std::string& path) {
  const Value* value = &document;
  std::size_t from = 0;
  while (value != nullptr) {
    const std::size_t dot = path.find('.', from);
    value = value->find(path.substr(from, dot == std::string::npos ? dot : dot - from));
    if (dot == std::string::npos) return value;
    from = dot + 1;
  }
  return nullptr;
}

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

}  // namespace

std::vector<ScenarioPoint> expand(const ScenarioFile& file) {
  std::size_t count = 1;
  for (const ScenarioFile::Swept& swept : file.swept) count *= swept.values.size();
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
      detail::set_dotted(document, swept.key, value);
    }
    for (const std::string& key : file.set_keys) {
      const Value* value = find_dotted(document, key);
      if (value != nullptr) point.settings.emplace_back(key, *value);
    }
    ReadResult result = read_scenario(document, cache);
    faults.add(result.faults);
    if (!result.faults.empty()) continue;
    if (result.impossible.empty()) {
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

std::optional<Scenario> with_nodes(const Scenario& scenario, int nodes) {
  Scenario changed = scenario;
  changed.cluster.nodes = nodes;
  TrainingSection& training = changed.training;
  if (training.strategy == Strategy::hsdp &&
      (training.shard_degree > changed.gpus() || changed.gpus() % training.shard_degree != 0)) {
    return {};
  }
  if (training.global_batch_given) {
    const int at_once = training.micro_batch_size * changed.data_parallel_size();
    if (scenario.global_batch_size() % at_once != 0) return {};
    training.gradient_accumulation_steps = scenario.global_batch_size() / at_once;
  }
  return changed;
}

}  // namespace stepcast
